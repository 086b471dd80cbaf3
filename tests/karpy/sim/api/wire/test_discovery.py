from __future__ import annotations

from karpy.kube.crds import core_crds
from karpy.sim.api.wire.discovery import Discovery
from karpy.sim.apiserver import ApiServer


def test_stable_versions_are_preferred(server: ApiServer) -> None:
    for crd in core_crds():
        server.install_crd(crd)
    assert Discovery(server.registry).groups()["karpenter.sh"] == ["v1", "v1beta1", "v1alpha5", "v1alpha1"]


def test_a_resource_is_listed_with_its_names_and_subresources(server: ApiServer) -> None:
    listed = Discovery(server.registry).resource_list("apps", "v1")
    assert listed is not None
    found = {each["name"]: each for each in listed["resources"]}
    assert found["deployments"]["shortNames"] == ["deploy"]
    assert found["deployments"]["categories"] == ["all"]
    assert found["deployments/scale"]["kind"] == "Scale"


def test_what_is_not_served_is_not_listed(server: ApiServer) -> None:
    assert Discovery(server.registry).resource_list("nonsense.io", "v1") is None
    assert Discovery(server.registry).group("nonsense.io") is None
