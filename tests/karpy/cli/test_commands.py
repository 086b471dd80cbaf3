"""What each command prints and the status that it ends with."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest
import yaml

from karpy.cli.app import run
from karpy.kube.crds import core_crds

Captured = pytest.CaptureFixture[str]


def complaint(capsys: Captured, *arguments: str) -> str:
    """The one line on stderr of a command line that is refused."""
    assert run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    return line.removeprefix("karpy: ")


def test_version_names_karpy_and_python(capsys: Captured) -> None:
    assert run(["version"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("karpy ")
    assert lines[1] == f"python {platform.python_version()}"


def test_providers_say_whether_they_can_start(capsys: Captured) -> None:
    assert run(["providers"]) == 0
    states = {line.split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert states["sim"].endswith("ready")
    assert "CLUSTER_NAME: is required" in states["aws"]
    assert "not in this version" in states["azure"]


def test_crds_are_the_cores_and_the_clouds(capsys: Captured) -> None:
    assert run(["crds"]) == 0
    names = [crd["metadata"]["name"] for crd in yaml.safe_load_all(capsys.readouterr().out)]
    assert names[: len(core_crds())] == [crd["metadata"]["name"] for crd in core_crds()]
    assert {"awsnodetemplates.karpenter.k8s.aws", "aksnodeclasses.karpenter.azure.com"} <= set(names)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("demo", "--scenario", "no-such"), "unknown scenario 'no-such' (accepted: aks, aks-nap, eks, eks-v0.5.3, or"),
        (("demo", "--speed", "fast"), "--speed: found 'fast' (accepted: a number above 0, or max)"),
        (("demo", "--speed", "-1"), "--speed: found '-1' (accepted: a number above 0, or max)"),
        (("demo", "--until", "soon"), "--until: 'soon' is not a duration"),
        (("demo", "--feature-gates", "Overlays=true"), "--feature-gates: found 'Overlays' (accepted: CapacityBuffer, "),
        (("demo", "--scheduler-config", "no-such"), "--scheduler-config: no-such cannot be read: No such file"),
        (
            ("cluster", "--feature-gates", "SpotToSpotConsolidation=yes"),
            "--feature-gates: SpotToSpotConsolidation: found 'yes' (accepted: true or false)",
        ),
        (
            ("demo", "--cloud", "azure"),
            "--cloud: the demonstration cannot run on azure in this version (accepted: sim, aws)",
        ),
        (("cluster", "--speed", "max"), "--speed: found 'max' (accepted: a number above 0)"),
        (("cluster", "--port", "70000"), "--port: found 70000 (accepted: 0 to 65535)"),
        (("cluster", "-f", "no-such.yaml"), "no-such.yaml: cannot be read: No such file or directory"),
        (("cluster", "--port", "0", "--kubeconfig", "no-such/kc"), "--kubeconfig: no-such/kc cannot be written"),
    ],
)
def test_bad_input_is_refused_with_one_line(capsys: Captured, arguments: tuple[str, ...], text: str) -> None:
    assert text in complaint(capsys, *arguments)


@pytest.mark.parametrize("arguments", [["demo", "--no-such-option"], ["no-such-command"], ["demo", "--seed", "x"]])
def test_bad_usage_is_refused(capsys: Captured, arguments: list[str]) -> None:
    assert run(arguments) == 2
    assert "Error: " in capsys.readouterr().err


def test_every_problem_of_a_manifest_has_its_line(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("apiVersion: v1\nkind: Pod\n---\n- 1\n")
    assert run(["demo", "--scenario", str(path)]) == 2
    assert [line.split(": ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "document 1 (line 1)",
        "document 2 (line 4)",
    ]


def test_what_the_api_server_refuses_is_bad_input(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "pool.yaml"
    path.write_text("apiVersion: karpenter.sh/v1\nkind: NodePool\nmetadata: {name: default}\nspec: {weight: 3}\n")
    assert complaint(capsys, "demo", "--scenario", str(path)).startswith("NodePool/default: ")


def test_a_kind_that_nobody_serves_is_bad_input(capsys: Captured, tmp_path: Path) -> None:
    path = tmp_path / "thing.yaml"
    path.write_text("apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\n")
    assert "no kind 'Thing' in 'example.com/v1'" in complaint(capsys, "demo", "--scenario", str(path))


def test_the_guides_manifest_as_it_was_printed_is_bad_input(capsys: Captured, shared: Path) -> None:
    path = shared / "data/seeds/eks-v0.5.3-as-printed.yaml"
    for command in (("demo", "--scenario"), ("cluster", "-f")):
        line = complaint(capsys, *command, str(path))
        assert all(f'"{key}"' in line for key in ("limits", "limits.resoutces", "provider", "ttlSecondsAfterEmpty"))
