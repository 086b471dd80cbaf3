from __future__ import annotations

from typing import Any

from karpy.cloud.routing import Clouds
from karpy.cloud.volumes import UnsupportedVolumes
from karpy.labels import LabelSpec
from karpy.objects.kinds import Kind
from karpy.objects.nodepool import NodeClassRef, NodePool
from karpy.requirements import Requirement, Requirements
from karpy.state.catalogs import with_catalog
from karpy.state.snapshot import Snapshot
from karpy.testing import make_nodepool, selector


class Cloud:
    """Only what routing looks at."""

    def __init__(self, name: str, *kinds: Kind) -> None:
        self.name = name
        self.node_classes = kinds
        self.labels = LabelSpec(frozenset({f"{name}/size"}), frozenset({f"{name}.io"}), frozenset())


class Defaults(Cloud):
    def default_requirements(self, pool: NodePool) -> Requirements:
        return Requirements(
            [Requirement.in_("kubernetes.io/os", "linux"), Requirement.in_("kubernetes.io/arch", "amd64")]
        )


A1, A2 = Kind("a.io", "v1", "Class", "classes"), Kind("a.io", "v1", "OldClass", "oldclasses")
B1 = Kind("b.io", "v1", "Class", "classes")


def clouds(*providers: Any) -> Clouds:
    return Clouds(providers)


def test_group_and_kind_of_the_node_class_say_whose_a_pool_is() -> None:
    a, b = Cloud("a", A1, A2), Cloud("b", B1)
    both = clouds(a, b)
    assert both.serving(NodeClassRef("a.io", "OldClass", "x")) is a
    assert both.serving(NodeClassRef("b.io", "Class", "x")) is b
    assert both.serving(NodeClassRef("c.io", "Class", "x")) is None
    assert both.kinds == (A1, A2, B1)


def test_of_two_clouds_with_one_kind_the_first_serves_it() -> None:
    first, second = Cloud("a", A1), Cloud("b", A1)
    assert clouds(first, second).serving(NodeClassRef("a.io", "Class", "x")) is first


def test_label_keys_of_all_clouds_are_known_together() -> None:
    spec = clouds(Cloud("a", A1), Cloud("b", B1)).labels
    assert {"a/size", "b/size", "kubernetes.io/arch"} <= spec.well_known
    assert spec.is_restricted("x.b.io/y")


def test_a_cloud_completes_what_its_pools_leave_open_and_nothing_else() -> None:
    class_ref = {"nodeClassRef": {"group": "a.io", "kind": "Class", "name": "x"}}
    arm = [selector("kubernetes.io/arch", "In", "arm64")]
    pool = NodePool.from_dict(make_nodepool(requirements=arm, template=class_ref))
    other = NodePool.from_dict(make_nodepool(requirements=arm))
    both = clouds(Defaults("a", A1), Cloud("b", B1))
    assert both.defaults(pool).labels() == {"kubernetes.io/os": "linux"}
    assert not both.defaults(other)


class Restricted(Cloud):
    def __init__(self, name: str, *kinds: Kind) -> None:
        super().__init__(name, *kinds)
        self.unsupported_volumes = UnsupportedVolumes(frozenset({f"csi.{name}"}), frozenset({f"{name}/room"}))


def test_what_one_of_several_clouds_cannot_use_is_unsupported() -> None:
    assert clouds(Cloud("a", A1)).unsupported_volumes == UnsupportedVolumes()
    both = clouds(Restricted("a", A1), Cloud("c"), Restricted("b", B1)).unsupported_volumes
    assert both == UnsupportedVolumes(frozenset({"csi.a", "csi.b"}), frozenset({"a/room", "b/room"}))
    _, catalog = with_catalog(Snapshot(), clouds(Restricted("a", A1)))
    assert catalog.unsupported_volumes.provisioners == {"csi.a"}
