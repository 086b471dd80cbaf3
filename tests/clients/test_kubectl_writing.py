"""The real kubectl on a living cluster: objects are applied, compared, edited, patched and made from arguments."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tests.clients.cluster import Kubectl

pytestmark = pytest.mark.kubectl


def settings(name: str, **data: str) -> str:
    """The manifest of a ConfigMap."""
    values = ", ".join(f'{key}: "{value}"' for key, value in data.items())
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: {name}, labels: {{app: x}}}}\ndata: {{{values}}}\n---\n"


def test_applying_merges_three_ways(kubectl: Kubectl) -> None:
    assert kubectl("apply -f -", settings("a", kept="1", dropped="1")) == "configmap/a created\n"
    kubectl('patch configmap a -p \'{"data":{"others":"1"}}\'')
    changed = settings("a", kept="2")

    difference = kubectl.run("diff -f -", changed)
    assert difference.returncode == 1
    assert {"-  dropped: \"1\"", "-  kept: \"1\"", "+  kept: \"2\""} <= set(difference.stdout.splitlines())  # fmt: skip
    assert kubectl("apply --dry-run=server -f -", changed) == "configmap/a configured (server dry run)\n"
    assert kubectl("apply --dry-run=client -f -", changed) == "configmap/a configured (dry run)\n"
    assert kubectl.json("get configmap a")["data"]["kept"] == "1"

    assert kubectl("apply -f -", changed) == "configmap/a configured\n"
    assert kubectl.json("get configmap a")["data"] == {"kept": "2", "others": "1"}
    assert kubectl("apply -f -", changed) == "configmap/a unchanged\n"
    assert kubectl("diff -f -", changed) == ""
    assert "kept: \"2\"" in kubectl("apply view-last-applied configmap/a")  # fmt: skip


def test_what_is_no_longer_applied_is_pruned(kubectl: Kubectl) -> None:
    both, one = settings("a", k="1") + settings("b", k="1"), settings("a", k="1")
    kubectl("apply -f -", both)
    assert kubectl("apply --prune -l app=x -f -", one) == "configmap/a unchanged\nconfigmap/b pruned\n"
    allowed = {"KUBECTL_APPLYSET": "true"}
    kubectl.run("apply --prune --applyset=set -f -", both, **allowed)
    kubectl("delete configmap a b")
    assert kubectl.run("apply --prune --applyset=set -f -", both, **allowed).stdout.count(" created\n") == 2
    assert kubectl.run("apply --prune --applyset=set -f -", one, **allowed).stdout == (
        "configmap/a unchanged\nconfigmap/b pruned\n"
    )
    parent = kubectl.json("get secret set")["metadata"]
    assert parent["annotations"]["applyset.kubernetes.io/contains-group-kinds"] == "ConfigMap"


def test_server_side_applying_knows_whose_fields_are_whose(kubectl: Kubectl) -> None:
    apply = "apply --server-side -f -"
    assert kubectl(apply, settings("a", k="1")) == "configmap/a serverside-applied\n"
    refused = kubectl.fails(f"{apply} --field-manager=other", settings("a", k="2"))
    assert 'Apply failed with 1 conflict: conflict with "kubectl": .data.k' in refused
    kubectl(f"{apply} --field-manager=other", settings("a", k="1", more="1"))
    assert kubectl(f"{apply} --field-manager=other --force-conflicts", settings("a", k="2")) != ""
    assert kubectl.json("get configmap a")["data"] == {"k": "2"}, "more went with its only owner"
    entries = kubectl.json("get configmap a --show-managed-fields")["metadata"]["managedFields"]
    assert [(each["manager"], each["operation"]) for each in entries] == [("kubectl", "Apply"), ("other", "Apply")]
    assert "f:data" not in entries[0]["fieldsV1"]
    kubectl("apply -f -", settings("b", k="1"))
    kubectl(apply, settings("b", k="2"))
    managers = {
        each["manager"] for each in kubectl.json("get configmap b --show-managed-fields")["metadata"]["managedFields"]
    }
    assert managers == {"kubectl", "kubectl-last-applied"}, "what client-side applying owned is taken over"
    assert '"k":"2"' in kubectl("get configmap b -o jsonpath={.metadata.annotations}").replace("\\", "")


def test_patches_of_all_types(kubectl: Kubectl) -> None:
    kubectl("create deployment web --image=nginx --replicas=0")
    kubectl('patch deployment web --type=json -p \'[{"op":"add","path":"/metadata/labels/a","value":"b"}]\'')
    kubectl('patch deployment web --type=merge -p \'{"metadata":{"labels":{"a":null}}}\'')
    side = '{"spec":{"template":{"spec":{"containers":[{"name":"side","image":"s"}]}}}}'
    kubectl(f"patch deployment web --type=strategic -p '{side}'")
    web = kubectl.json("get deployment web")
    assert web["metadata"]["labels"] == {"app": "web"}
    assert [each["name"] for each in web["spec"]["template"]["spec"]["containers"]] == ["side", "nginx"]
    test = '[{"op":"test","path":"/spec/replicas","value":9}]'
    assert "The request is invalid" in kubectl.fails(f"patch deployment web --type=json -p '{test}'")
    assert "spec.replicas: Invalid value: -1" in kubectl.fails('patch deployment web -p \'{"spec":{"replicas":-1}}\'')


def test_an_editor_changes_and_is_asked_again_when_it_is_wrong(kubectl: Kubectl, tmp_path: Path) -> None:
    kubectl("create deployment web --image=nginx --replicas=0")
    editor = tmp_path / "editor"
    seen = tmp_path / "seen"
    editor.write_text(
        "#!/bin/sh\n"
        f"""cat "$1" >> {seen}\n"""
        """grep -q 'was not valid' "$1" && sed -i 's/replicas: -1/replicas: 1/' "$1" """
        """|| sed -i 's/replicas: 0/replicas: -1/' "$1"\n"""
    )
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    assert kubectl.run("edit deployment web", KUBE_EDITOR=str(editor)).stdout == "deployment.apps/web edited\n"
    assert kubectl("get deployment web -o jsonpath={.spec.replicas}") == "1"
    assert "# * spec.replicas: Invalid value: -1: must be greater than or equal to 0\n" in seen.read_text()
    assert kubectl.run("edit deployment web", KUBE_EDITOR="true").stderr == "Edit cancelled, no changes made.\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("configmap c --from-literal=a=b", "configmap/c"),
        ("secret generic s --from-literal=a=b", "secret/s"),
        ("secret docker-registry d --docker-server=x --docker-username=u --docker-password=p", "secret/d"),
        ("serviceaccount robot", "serviceaccount/robot"),
        ("role reader --verb=get --resource=pods", "role.rbac.authorization.k8s.io/reader"),
        ("rolebinding readers --role=reader --user=u", "rolebinding.rbac.authorization.k8s.io/readers"),
        ("quota q --hard=pods=2", "resourcequota/q"),
        ("poddisruptionbudget p --selector=a=b --max-unavailable=1", "poddisruptionbudget.policy/p"),
        ("service clusterip s --tcp=80", "service/s"),
        ("job j --image=busybox -- sleep 1", "job.batch/j"),
        ("cronjob c --image=busybox --schedule='0 0 1 1 *' -- date", "cronjob.batch/c"),
        ("deployment d --image=nginx", "deployment.apps/d"),
    ],
    ids=lambda value: value.split()[0] if " " in value else "",
)
def test_things_are_made_from_arguments(kubectl: Kubectl, line: str, shown: str) -> None:
    assert kubectl(f"create {line}") == f"{shown} created\n"
    assert kubectl(f"get {shown} -o name") == f"{shown}\n"
    assert shown.split("/")[1] in kubectl(f"describe {shown}")


def test_things_are_made_from_other_things(kubectl: Kubectl) -> None:
    kubectl("create cronjob daily --image=busybox --schedule='0 0 1 1 *' -- date")
    kubectl("create job now --from=cronjob/daily")
    kubectl("wait job/now --for=condition=Complete --timeout=50s")
    kubectl("run one --image=nginx --port=80")
    assert kubectl("expose pod one") == "service/one exposed\n"
    assert kubectl("get service one -o jsonpath={.spec.ports[0].targetPort}/{.spec.selector}") == '80/{"run":"one"}'
    assert kubectl("create token default").count(".") == 2
    kubectl("create quota tight --hard=pods=1")
    kubectl("wait quota/tight --for=jsonpath={.status.used.pods}=1 --timeout=50s")  # the job's pod has ended
    exceeded = "exceeded quota: tight, requested: pods=1, used: pods=1, limited: pods=1"
    assert exceeded in kubectl.fails("run two --image=nginx --dry-run=server")
    assert exceeded in kubectl.fails("run two --image=nginx")


def test_the_priority_of_a_class_goes_to_its_pods(kubectl: Kubectl) -> None:
    kubectl("create priorityclass high --value=100 --description=x")
    kubectl('run one --image=nginx --overrides=\'{"spec":{"priorityClassName":"high"}}\'')
    assert kubectl("get pod one -o jsonpath={.spec.priority}") == "100"
    assert "no PriorityClass with name low was found" in kubectl.fails(
        'run two --image=nginx --overrides=\'{"spec":{"priorityClassName":"low"}}\''
    )
    kubectl("delete priorityclass high")


def test_objects_are_replaced_and_named_by_the_server(kubectl: Kubectl) -> None:
    kubectl("create -f -", settings("a", k="1"))
    assert 'configmaps "a" already exists' in kubectl.fails("create -f -", settings("a", k="1"))
    assert kubectl("replace -f -", settings("a", k="2")) == "configmap/a replaced\n"
    uid = kubectl("get configmap a -o jsonpath={.metadata.uid}")
    kubectl("replace --force -f -", settings("a", k="3"))
    assert kubectl("get configmap a -o jsonpath={.metadata.uid}") != uid
    named = kubectl("create -o name -f -", settings("a", k="1").replace("name: a,", "generateName: a-,"))
    assert named.startswith("configmap/a-")
    assert "unknown field \"spex\"" in kubectl.fails("create -f -", settings("z").replace("data:", "spex:"))  # fmt: skip
