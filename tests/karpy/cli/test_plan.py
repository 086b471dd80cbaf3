"""``karpy plan`` from the outside: files in, reports and exit statuses out."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from karpy import labels
from karpy.cli.app import run
from karpy.resources import Resources
from karpy.sim.world import World
from karpy.testing.builders import make_buffer, make_nodepool, make_overlay, make_pod, selector
from tests.vectors import read

Captured = pytest.CaptureFixture[str]
Json = dict[str, Any]

ROOT = Path(__file__).parents[3]
SMALL = "data/vectors/scheduling/small.jsonl"

CATALOG: Json = {
    "name": "little",
    "wellKnownLabels": [],
    "reservationIdLabel": "cloud.test/reservation-id",
    "instanceTypes": [
        {
            "name": f"m.{size}",
            "requirements": [selector(labels.INSTANCE_TYPE, "In", f"m.{size}")],
            "capacity": {"cpu": str(size), "memory": f"{4 * size}Gi", "pods": "20"},
            "overhead": {},
            "offerings": [{"zone": "z1", "capacityType": "on-demand", "price": 0.1 * size, "available": True}],
        }
        for size in (2, 4)
    ],
}


def pool(group: str = "cloud.test") -> Json:
    found = make_nodepool()
    found["spec"]["template"]["spec"]["nodeClassRef"] = {"group": group, "kind": "NodeClass", "name": "default"}
    return found


def scenario(*objects: Json, name: str = "one", **fields: Any) -> Json:
    return {"name": name, "now": "2026-03-02T12:00:00Z", "catalog": "little", "objects": list(objects), **fields}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder for scenarios, with a folder of catalogs beside it."""
    (tmp_path / "catalogs").mkdir()
    (tmp_path / "catalogs" / "little.json").write_text(json.dumps(CATALOG))
    (tmp_path / "scenarios").mkdir()
    return tmp_path / "scenarios"


def written(folder: Path, *documents: Json, name: str = "some.jsonl") -> Path:
    path = folder / name
    text = "".join(json.dumps(document) + "\n" for document in documents)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def answers(capsys: Captured, *arguments: str | Path, status: int = 0) -> list[Json]:
    assert run(["plan", "-o", "json", *map(str, arguments)]) == status
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def answer(capsys: Captured, *arguments: str | Path) -> Json:
    (found,) = answers(capsys, *arguments)
    return found


def complaint(capsys: Captured, *arguments: str | Path) -> str:
    assert run(["plan", *map(str, arguments)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    return shown.err.removeprefix("karpy: ").rstrip("\n")


# The format of recorded scenarios


@pytest.fixture(scope="module")
def compared(shared: Path) -> list[tuple[Json, Json]]:
    """Every scenario beside the answer that the command gives."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert run(["plan", "--from", str(shared / SMALL), "--all", "--only", "provisioning", "-o", "json"]) == 0
    found = [json.loads(line) for line in out.getvalue().splitlines()]
    return list(zip(read(shared, "scheduling/small.jsonl"), found, strict=True))


def test_there_is_one_answer_a_line_in_order(compared: list[tuple[Json, Json]]) -> None:
    assert [line["name"] for line, _ in compared] == [found["name"] for _, found in compared]


def test_answers_have_the_keys_of_the_format(compared: list[tuple[Json, Json]]) -> None:
    for line, found in compared:
        assert line["expect"].keys() - {"ignored"} <= found.keys()
        for claim in found["newNodeClaims"]:
            assert claim.keys() >= {
                *("nodePool", "instanceTypes", "requirements", "requests", "pods", "cheapestPrice"),
            }
            assert claim.get("minValuesRelaxed", True) is True
            assert claim["pods"] == sorted(claim["pods"])
        pods = [claim["pods"] for claim in found["newNodeClaims"]]
        assert pods == sorted(pods)


CHOSEN = {labels.ZONE, labels.CAPACITY_TYPE, "cloud.test/reservation-id", "team"}
"""Keys on which one of several equally good values may have been chosen, or settled on earlier."""

OTHER_DAEMONS = {"daemonsets-017", "daemonsets-029"}
"""Karpenter counts a daemon that some of the listed types do not run, where on these there would be no daemon at all."""


def test_a_claim_for_the_same_pods_is_karpenters_claim(compared: list[tuple[Json, Json]]) -> None:
    same = 0
    for line, found in compared:
        claims = {(claim["nodePool"], *claim["pods"]): claim for claim in found["newNodeClaims"]}
        for expected in line["expect"]["newNodeClaims"]:
            claim = claims.get((expected["nodePool"], *expected["pods"]))
            if claim is None or not line["deterministic"]:
                continue
            where = line["name"]
            assert settled(claim) == settled(expected), where
            if where not in OTHER_DAEMONS:
                assert Resources.parse(claim["requests"]) == Resources.parse(expected["requests"]), where
            if claim["requirements"] == expected["requirements"]:
                same += 1
                assert claim["instanceTypes"] == expected["instanceTypes"], where
                assert claim.get("minValuesRelaxed") == expected.get("minValuesRelaxed"), where
                assert claim["cheapestPrice"] == pytest.approx(expected["cheapestPrice"], abs=1e-9), where
    assert same > 1000


def test_pods_go_to_the_nodes_that_karpenter_takes_too(compared: list[tuple[Json, Json]]) -> None:
    lines = [(line, found) for line, found in compared if line["deterministic"]]
    same = [line for line, found in lines if line["expect"]["existingNodes"] == found["existingNodes"]]
    assert len(same) > 0.99 * len(lines)


def settled(claim: Json) -> list[Json]:
    return [entry for entry in claim["requirements"] if entry["key"] not in CHOSEN]


def test_a_key_bounded_on_both_sides_appears_twice(compared: list[tuple[Json, Json]]) -> None:
    keys = [
        [entry["key"] for entry in claim["requirements"]] for _, found in compared for claim in found["newNodeClaims"]
    ]
    assert any(len(each) > len(set(each)) for each in keys)


def test_quantities_are_canonical(compared: list[tuple[Json, Json]]) -> None:
    for _, found in compared:
        for claim in found["newNodeClaims"]:
            assert Resources.parse(claim["requests"]).to_dict() == claim["requests"]


def test_the_price_is_no_less_than_its_bound(compared: list[tuple[Json, Json]]) -> None:
    assert all(found["priceBound"] <= found["price"] + 1e-9 for _, found in compared)


def test_the_same_question_has_the_same_answer_to_the_byte(shared: Path) -> None:
    def told(seed: str) -> bytes:
        options = ["--from", str(shared / SMALL), "--line", "1029", "-o", "json"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-m", "karpy", "plan", *options]
        return subprocess.run(command, check=True, capture_output=True, env=environment, cwd=ROOT).stdout

    assert told("1") == told("2")


# Scenario files


def test_a_scenario_in_a_file_of_its_own_needs_no_line(capsys: Captured, folder: Path) -> None:
    path = written(folder, scenario(pool(), make_pod("a", requests={"cpu": "1"})), name="one.json")
    found = answer(capsys, "--from", path)
    (claim,) = found["newNodeClaims"]
    assert (claim["instanceTypes"], claim["pods"]) == (["m.2", "m.4"], ["default/a"])
    assert (claim["zone"], claim["capacityType"], claim["cheapestPrice"]) == ("z1", "on-demand", 0.2)
    assert found["disruption"]["command"] is None


@pytest.mark.parametrize("name", ["some.jsonl", "some.jsonl.gz"])
def test_lines_are_counted_from_one(capsys: Captured, folder: Path, name: str) -> None:
    path = written(folder, scenario(name="first"), scenario(name="second"), name=name)
    assert answer(capsys, "--from", path, "--line", "2")["name"] == "second"
    assert [found["name"] for found in answers(capsys, "--from", path, "--all")] == ["first", "second"]


def test_pools_of_another_cloud_are_somebody_elses(capsys: Captured, folder: Path) -> None:
    path = written(folder, scenario(pool("other.test"), make_pod("a", requests={"cpu": "1"})))
    found = answer(capsys, "--from", path, "--line", "1")
    assert not found["newNodeClaims"]
    assert found["errors"].keys() == {"default/a"}


def test_settings_of_a_scenario_count(capsys: Captured, folder: Path) -> None:
    wish = {"weight": 1, "preference": {"matchExpressions": [selector(labels.INSTANCE_TYPE, "In", "m.4")]}}
    affinity = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [wish]}}
    objects = (pool(), make_pod("a", requests={"cpu": "1"}, spec={"affinity": affinity}))
    path = written(
        folder,
        scenario(*objects, settings={"preferencePolicy": "Respect"}),
        scenario(*objects, settings={"preferencePolicy": "Ignore"}),
    )
    respected, ignored = answers(capsys, "--from", path, "--all")
    assert respected["newNodeClaims"][0]["instanceTypes"] == ["m.4"]
    assert ignored["newNodeClaims"][0]["instanceTypes"] == ["m.2", "m.4"]


def test_manifests_beside_a_scenario_are_added_to_it(capsys: Captured, folder: Path) -> None:
    path = written(folder, scenario(pool(), make_pod("a", requests={"cpu": "1"}), name="with a"), scenario(pool()))
    extra = folder / "extra.yaml"
    extra.write_text("{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {containers: [{name: c}]}}")
    first, second = answers(capsys, "--from", path, extra, "--all")
    assert first["newNodeClaims"][0]["pods"] == ["default/a", "default/b"]
    assert second["newNodeClaims"][0]["pods"] == ["default/b"]


def test_catalogs_may_be_elsewhere(capsys: Captured, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "catalogs").rename(tmp_path / "moved")
    path = written(folder, scenario(pool(), make_pod("a", requests={"cpu": "1"})))
    assert "a catalog in" in complaint(capsys, "--from", path, "--line", "1")
    assert answer(capsys, "--from", path, "--line", "1", "--catalogs", tmp_path / "moved")["newNodeClaims"]


def test_a_line_that_cannot_be_read_does_not_stop_the_others(capsys: Captured, folder: Path) -> None:
    path = written(folder, scenario(name="first"), {"objects": 1}, scenario(name="third"))
    assert run(["plan", "--from", str(path), "--all", "-o", "json"]) == 2
    shown = capsys.readouterr()
    first, second, third = map(json.loads, shown.out.splitlines())
    assert (first["name"], third["name"]) == ("first", "third")
    assert shown.err == f"karpy: {second['error']}\n"
    assert second["error"] == f"{path}: line 2: objects: found 1 (accepted: a list of Kubernetes objects)"


def test_lines_are_read_one_after_another(folder: Path) -> None:
    """However long the file: what is read so far is answered at once, and nothing is kept."""
    path = folder / "endless.jsonl"
    os.mkfifo(path)
    command = [sys.executable, "-m", "karpy", "plan", "--from", str(path), "--all", "-o", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as planning, path.open("w") as lines:
        assert planning.stdout is not None
        for _ in range(2):
            lines.write(json.dumps(scenario()) + "\n")
            lines.flush()
            assert json.loads(planning.stdout.readline())["name"] == "one"
        lines.close()
        assert planning.wait(10) == 0


def test_whoever_reads_may_stop_early(shared: Path) -> None:
    command = [sys.executable, "-m", "karpy", "plan", "--from", str(shared / SMALL), "--all", "--only", "provisioning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT) as planning:
        assert planning.stdout is not None
        assert planning.stderr is not None
        assert planning.stdout.readline() == b"resources-000\n"
        planning.stdout.close()
        assert planning.stderr.read() == b""
        assert planning.wait(30) == 0


# Manifests


def test_a_deployment_and_a_pool_are_enough(capsys: Captured) -> None:
    assert run(["plan", "--from", str(ROOT / "examples/01-solve.yaml"), "--fail-on", "unschedulable"]) == 3
    shown = capsys.readouterr().out
    assert "1  default  r6g.xlarge +107  us-west-2a  on-demand  0.2016  2" in shown
    assert "giant" in shown


def test_what_kubectl_prints_is_read_from_standard_input() -> None:
    objects = yaml.safe_load_all((ROOT / "examples/01-solve.yaml").read_text())
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)})
    command = [sys.executable, "-m", "karpy", "plan", "--from", "-", "-o", "json"]
    found = subprocess.run(command, check=True, capture_output=True, input=listed, text=True, cwd=ROOT)
    assert json.loads(found.stdout)["newNodeClaims"][0]["pods"] == ["default/cache", "default/web"]


def test_scenarios_of_standard_input_are_taken_line_by_line_where_lines_are_asked_for(folder: Path) -> None:
    lines = "".join(json.dumps(scenario(name=name)) + "\n" for name in ("a", "b"))
    options = ["--from", "-", "--line", "2", "--catalogs", str(folder.parent / "catalogs"), "-o", "json"]
    command = [sys.executable, "-m", "karpy", "plan", *options]
    found = subprocess.run(command, check=True, capture_output=True, input=lines, text=True, cwd=ROOT)
    assert json.loads(found.stdout)["name"] == "b"


@pytest.mark.parametrize(
    ("condition", "arguments", "status"),
    [
        ("unschedulable", ("--line", "1"), 3),
        ("unschedulable", ("--line", "2"), 0),
        ("changes", ("--line", "1"), 0),
        ("changes", ("--line", "2"), 3),
        ("changes", ("--line", "2", "--only", "disruption"), 0),
        ("unschedulable", ("--all",), 3),
    ],
)
def test_conditions_make_the_status_3(
    capsys: Captured, folder: Path, condition: str, arguments: tuple[str, ...], status: int
) -> None:
    waits = scenario(pool(), make_pod("a", requests={"cpu": "64"}))
    launches = scenario(pool(), make_pod("a", requests={"cpu": "1"}))
    path = written(folder, waits, launches)
    answers(capsys, "--from", path, *arguments, "--fail-on", condition, status=status)


# Output


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_reports_of_several_scenarios_are_told_apart(capsys: Captured, folder: Path, output: str) -> None:
    path = written(folder, scenario(name="first"), scenario(name="second"))
    assert run(["plan", "--from", str(path), "--all", "-o", output]) == 0
    first, second = capsys.readouterr().out.split("second")
    assert "first" in first
    assert "No pod waits for a node." in first
    assert "No pod waits for a node." in second


@pytest.mark.parametrize(
    ("only", "there", "missing"), [("provisioning", "wait", "Disrupt"), ("disruption", "Disrupt", "wait")]
)
def test_one_half_can_be_asked_for(capsys: Captured, folder: Path, only: str, there: str, missing: str) -> None:
    path = written(folder, scenario(), name="one.json")
    assert run(["plan", "--from", str(path), "--only", only]) == 0
    shown = capsys.readouterr().out
    assert there in shown
    assert missing not in shown


# Bad input


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("empty.yaml", "", "there are no objects (accepted: manifests, or a scenario)"),
        ("empty.json", "", "there are no objects (accepted: manifests, or a scenario)"),
        ("x.yaml.gz", "not packed", "cannot be read: Not a gzipped file"),
        ("o.json", '{"objects": 3}', "objects: found 3 (accepted: a list of Kubernetes objects)"),
        ("c.json", '{"objects": []}', "catalog: found nothing (accepted: the name of a catalog)"),
        ("c.json", '{"objects": [], "catalog": "large"}', "catalog: found 'large' (accepted: little, as in"),
        ("c.json", '{"objects": [], "catalog": "../catalogs/little"}', "catalog: found '../catalogs/little' (accepted"),
        (
            "n.json",
            '{"objects": [], "catalog": "little", "now": "soon"}',
            "now: 'soon' is not a time (accepted: a time",
        ),
        ("p.json", '{"objects": [{"kind": "Pod"}], "catalog": "little"}', "objects[0]: apiVersion: found nothing"),
        (
            "s.json",
            '{"objects": [], "catalog": "little", "settings": {"minValuesPolicy": "Lax"}}',
            "settings.minValuesPolicy: found 'Lax' (accepted: Strict or BestEffort)",
        ),
        (
            "d.yaml",
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {replicas: all, template: {}}\n",
            "document 1 (line 1): Deployment/default/web: spec.replicas: found 'all' (accepted: a whole number, 0 or more)",
        ),
        (
            "pool.yaml",
            "apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: a}\nspec: {weight: heavy}\n",
            "document 1 (line 1): NodePool/a: spec.weight: found 'heavy' (accepted: an integer)",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused(
    capsys: Captured, folder: Path, name: str, content: str, text: str
) -> None:
    path = folder / name
    path.write_text(content)
    found = complaint(capsys, "--from", path)
    assert found.startswith(f"{path}: ")
    assert text in found


def test_every_object_that_cannot_be_read_is_named_with_its_place(capsys: Captured, folder: Path) -> None:
    bad = [make_pod(name, requests={"cpu": "much"}) for name in ("a", "b")]
    path = written(folder, scenario(), scenario(pool(), bad[0], make_pod("well"), bad[1]))
    first, second = complaint(capsys, "--from", path, "--line", "2").splitlines()
    field = "spec.containers[0].resources.requests.cpu"
    assert f"{path}: line 2: objects[1]: Pod/default/a: {field}: 'much' is not a quantity (accepted: " in first
    assert f"{path}: line 2: objects[3]: Pod/default/b: " in second


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ((), "holds one scenario a line (accepted: with --line N or --all)"),
        (("--line", "3"), "--line: found 3 (accepted: 1 to 2)"),
        (("--line", "0"), "--line: found 0 (accepted: a number from 1)"),
        (("--line", "1", "--all"), "--line: does not go with --all"),
        (("--line", "1", "--from", "other.jsonl"), "--line: found 2 files with one scenario a line"),
        (("--all", "--from", "no-such.yaml"), "no-such.yaml: cannot be read: No such file or directory"),
        (("--all", "--kubeconfig", "kc"), "--kubeconfig: is for a live cluster"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    capsys: Captured, folder: Path, arguments: tuple[str, ...], text: str
) -> None:
    path = written(folder, scenario(), scenario())
    assert text in complaint(capsys, "--from", path, *arguments)


@pytest.mark.parametrize("arguments", [("--line", "1"), ("--all",), ("--catalogs", ".")])
def test_options_for_files_are_refused_without_files(capsys: Captured, arguments: tuple[str, ...]) -> None:
    assert complaint(capsys, *arguments).endswith(f"{arguments[0]}: is for files (accepted: with --from)")


@pytest.mark.parametrize("arguments", [("-o", "yaml"), ("--only", "nothing"), ("--fail-on", "x"), ("--line", "one")])
def test_values_that_are_not_known_are_bad_usage(capsys: Captured, folder: Path, arguments: tuple[str, ...]) -> None:
    assert run(["plan", "--from", str(written(folder, scenario())), *arguments]) == 2
    assert arguments[0] in capsys.readouterr().err


# A live cluster


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Iterator[Path]:
    """A served cluster without an autoscaler, in which three pods wait."""
    from karpy.cli.serving import served
    from karpy.scenarios.catalogue import INFLATE, read_files
    from karpy.scenarios.rehearsal import apply_manifests, installed_models

    world = World(0, installed_models())
    inflate = {**INFLATE, "spec": {**INFLATE["spec"], "replicas": 3}}
    examples = [obj for obj in read_files([ROOT / "examples/eks.yaml"]) if obj["kind"] != "Deployment"]
    apply_manifests(world, [*examples, inflate])
    world.run(30)
    path = tmp_path / "kubeconfig"
    with served(world.api, 0, path):
        yield path


def test_a_live_cluster_is_read_and_left_as_it_is(capsys: Captured, kubeconfig: Path) -> None:
    found = answer(capsys, "--kubeconfig", kubeconfig)
    (claim,) = found["newNodeClaims"]
    assert len(claim["pods"]) == 3
    assert claim["nodePool"] == "default"
    assert "not the account's" in found["notes"][0]
    assert answer(capsys, "--kubeconfig", kubeconfig) == found


def test_a_cluster_that_does_not_answer_is_a_failure(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    path.write_text(
        yaml.safe_dump(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "gone", "cluster": {"server": "http://127.0.0.1:9"}}],
                "contexts": [{"name": "gone", "context": {"cluster": "gone", "user": "me"}}],
                "users": [{"name": "me", "user": {}}],
                "current-context": "gone",
            }
        )
    )
    assert run(["plan", "--kubeconfig", str(path)]) == 1
    assert capsys.readouterr().err.startswith("karpy: http://127.0.0.1:9 does not answer: ")


@pytest.mark.parametrize("content", [None, "", "{", "a: 1", "clusters: 3\n"])
def test_a_kubeconfig_that_cannot_be_used_is_bad_input(capsys: Captured, tmp_path: Path, content: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    found = complaint(capsys, "--kubeconfig", path)
    assert found.startswith(f"{path}: ")
    assert "\n" not in found


# Feature gates, and the scheduler's configuration


GATED: tuple[Json, ...] = (
    pool("sim.karpy.dev"),
    make_overlay("cheap", requirements=[selector(labels.INSTANCE_TYPE, "In", "m-4x-amd64")], price="0.001"),
    {
        "apiVersion": "v1",
        "kind": "PodTemplate",
        "metadata": {"name": "chunk"},
        "template": {"spec": make_pod()["spec"]},
    },
    make_buffer("spare", template="chunk", replicas=2),
)


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    objects = [dict(obj) for obj in GATED]
    objects[0]["spec"]["template"]["spec"]["nodeClassRef"]["kind"] = "SimNodeClass"
    for obj in objects[2:]:
        obj["metadata"] = {"name": obj["metadata"]["name"]}
    path = tmp_path / "gated.yaml"
    path.write_text(yaml.safe_dump_all(objects))
    return path


def test_gates_that_are_off_are_named_where_it_matters(capsys: Captured, gated: Path) -> None:
    found = answer(capsys, "--from", gated)
    assert found["newNodeClaims"] == []
    assert [note for note in found["notes"] if "gate" in note] == [
        "NodeOverlays do not count: the feature gate NodeOverlay is off",
        "CapacityBuffers do not count: the feature gate CapacityBuffer is off",
    ]


def test_room_for_buffers_is_planned_behind_its_gate(capsys: Captured, gated: Path) -> None:
    found = answer(capsys, "--from", gated, "--feature-gates", "CapacityBuffer=true")
    (claim,) = found["newNodeClaims"]
    assert (claim["pods"], claim["headroom"]) == ([], {"default/spare": 2})
    assert found["capacityBuffers"] == {"default/spare": {"existingNodes": {}, "launched": 2, "unplaced": 0}}
    assert claim["instanceTypes"][0] != "m-4x-amd64"


def test_overlays_choose_the_type_behind_their_gate(capsys: Captured, gated: Path) -> None:
    found = answer(capsys, "--from", gated, "--feature-gates", "CapacityBuffer=true,NodeOverlay=true")
    (claim,) = found["newNodeClaims"]
    assert (claim["instanceTypes"][0], claim["cheapestPrice"]) == ("m-4x-amd64", 0.001)


SPREAD_BY_ZONE = """
podTopologySpread:
  defaultConstraints:
  - {maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}
"""


def test_a_deployment_is_spread_as_the_scheduler_would(capsys: Captured, tmp_path: Path) -> None:
    own = pool("sim.karpy.dev")
    own["spec"]["template"]["spec"]["nodeClassRef"]["kind"] = "SimNodeClass"
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": make_pod()["spec"]},
        },
    }
    files, config = tmp_path / "web.yaml", tmp_path / "scheduler.yaml"
    files.write_text(yaml.safe_dump_all([own, web]))
    config.write_text(SPREAD_BY_ZONE)
    assert len(answer(capsys, "--from", files)["newNodeClaims"]) == 1
    spread = answer(capsys, "--from", files, "--scheduler-config", config)["newNodeClaims"]
    assert len({claim["zone"] for claim in spread}) == 3


def test_a_configuration_that_cannot_be_used_names_its_file(capsys: Captured, gated: Path, tmp_path: Path) -> None:
    missing, wrong = tmp_path / "none.yaml", tmp_path / "wrong.yaml"
    wrong.write_text("podTopologySpread: {defaultConstraints: 3}")
    assert complaint(capsys, "--from", gated, "--scheduler-config", missing) == (
        f"--scheduler-config: {missing} cannot be read: No such file or directory"
    )
    found = complaint(capsys, "--from", gated, "--scheduler-config", wrong)
    assert found == f"{wrong}: podTopologySpread.defaultConstraints: found 3 (accepted: a list)"
