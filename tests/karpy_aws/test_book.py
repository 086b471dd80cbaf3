"""What the book builds anew, and what stays the very same object."""

from __future__ import annotations

import threading
from collections.abc import Callable

import attrs
import pytest

from karpy.cloud.instancetype import InstanceTypes
from karpy.errors import InvalidObject, NodeClassNotReady
from karpy_aws.descriptions import Memory, TypeDescription
from karpy_aws.families import FAMILIES
from karpy_aws.kubeletnumbers import KubeletNumbers
from karpy_aws.nodesetup import NodeSetup
from karpy_aws.offerings import Conditions
from karpy_aws.unavailable import OfferingKey, Shortages
from tests.karpy_aws.sold import ON_DEMAND, PRICES, SETUP, TYPES, ZONES, book, described, market

SHORT = Conditions(shortages=Shortages(offerings=frozenset({OfferingKey("spot", "m5.large", "us-west-2a")})))


@pytest.mark.aws("AWS-122")
def test_the_same_question_has_the_very_same_answer() -> None:
    types = book()
    first = types.instance_types(attrs.evolve(SETUP), market())
    assert types.instance_types(attrs.evolve(SETUP), market()) is first


@pytest.mark.aws("AWS-122")
@pytest.mark.parametrize(
    "changed",
    [
        lambda: (attrs.evolve(SETUP, kubelet=KubeletNumbers(max_pods=5)), market()),
        lambda: (attrs.evolve(SETUP, family=FAMILIES["Bottlerocket"]), market()),
        lambda: (attrs.evolve(SETUP, subnets=SETUP.subnets[:1]), market()),
        lambda: (attrs.evolve(SETUP, reserved_enis=1), market()),
        lambda: (SETUP, market(prices=PRICES.with_on_demand({"m5.large": 0.3}, {"m5.metal": 5.0}, 1.0))),
        lambda: (SETUP, market(conditions=SHORT)),
        lambda: (SETUP, market(measured_memory={"m5.large": 2**33})),
        lambda: (SETUP, market(priced_elsewhere=frozenset({"m5.large"}))),
    ],
)
def test_each_thing_that_types_depend_on_gives_others(changed: Callable[[], tuple[NodeSetup, object]]) -> None:
    types = book()
    before = types.instance_types(SETUP, market())
    setup, now = changed()
    assert types.instance_types(setup, now) is not before  # type: ignore[arg-type]


@pytest.mark.aws("AWS-122")
def test_a_shortage_replaces_the_type_that_it_concerns_and_no_other() -> None:
    types = book()
    before, after = types.instance_types(SETUP, market()), types.instance_types(SETUP, market(conditions=SHORT))
    assert [new is old for new, old in zip(after, before, strict=True)] == [True, False, True]
    new, old = after.by_name("m5.large"), before.by_name("m5.large")
    assert new is not None
    assert old is not None
    assert new.requirements is old.requirements
    assert new.capacity is old.capacity
    assert sum(a is b for a, b in zip(new.offerings, old.offerings, strict=True)) == 5


@pytest.mark.aws("AWS-122")
def test_when_the_shortage_is_over_the_types_are_those_of_before() -> None:
    types = book()
    before = types.instance_types(SETUP, market())
    types.instance_types(SETUP, market(conditions=SHORT))
    assert all(new is old for new, old in zip(types.instance_types(SETUP, market()), before, strict=True))


@pytest.mark.aws("AWS-119", "AWS-122")
def test_memory_that_was_measured_replaces_that_type_alone() -> None:
    types = book()
    before = types.instance_types(SETUP, market())
    after = types.instance_types(SETUP, market(measured_memory={"m5.large": 2**33}))
    assert [new is old for new, old in zip(after, before, strict=True)] == [True, False, True]
    again = types.instance_types(SETUP, market())
    assert [new is old for new, old in zip(again, after, strict=True)] == [True, False, True]
    assert again[1] == before[1]


@pytest.mark.aws("AWS-122")
def test_new_prices_leave_what_the_machines_are() -> None:
    types = book()
    before = types.instance_types(SETUP, market())
    prices = PRICES.with_on_demand({"m5.large": 0.3}, {"m5.metal": 5.0}, 1.0)
    after = types.instance_types(SETUP, market(prices=prices))
    assert all(new.requirements is old.requirements for new, old in zip(after, before, strict=True))
    assert [each.offerings[0].price for each in after] == [ON_DEMAND["c5.large"], 0.3, ON_DEMAND["m5.xlarge"]]


@pytest.mark.aws("AWS-122")
def test_new_descriptions_give_new_types() -> None:
    types = book()
    before = types.instance_types(SETUP, market())
    larger = tuple(described(each.instance_type, memory_info=Memory(16_384)) for each in TYPES)
    types.update(types=larger)
    assert types.instance_types(SETUP, market())[0].capacity["memory"] > before[0].capacity["memory"]


@pytest.mark.aws("AWS-124")
def test_an_empty_answer_of_ec2_wipes_nothing() -> None:
    types = book()
    before = types.instance_types(SETUP, market())
    types.update(types=(), zones={})
    assert types.instance_types(SETUP, market()) is before


@pytest.mark.aws("AWS-124")
def test_the_same_answer_of_ec2_changes_nothing() -> None:
    types = book()
    before = types.instance_types(SETUP, market())
    types.update(types=tuple(map(attrs_copy, TYPES)), zones={each.instance_type: tuple(ZONES) for each in TYPES})
    assert types.instance_types(SETUP, market()) is before


def attrs_copy(description: TypeDescription) -> TypeDescription:
    return described(description.instance_type)


@pytest.mark.aws("AWS-123")
def test_many_may_ask_at_once() -> None:
    types, found = book(), list[InstanceTypes]()
    askers = [threading.Thread(target=lambda: found.append(types.instance_types(SETUP, market()))) for _ in range(8)]
    for each in askers:
        each.start()
    for each in askers:
        each.join()
    assert len(found) == 8
    assert all(each is found[0] for each in found)


@pytest.mark.aws("AWS-121")
def test_classes_have_types_of_their_own() -> None:
    types = book()
    one_zone = attrs.evolve(SETUP, subnets=SETUP.subnets[:1])
    zones = [
        {
            offering.zone
            for type_ in types.instance_types(setup, market())
            for offering in type_.offerings
            if offering.available
        }
        for setup in (one_zone, SETUP, one_zone)
    ]
    assert zones == [{"us-west-2a"}, set(ZONES), {"us-west-2a"}]


def test_a_class_without_subnets_has_no_types() -> None:
    with pytest.raises(NodeClassNotReady, match="no subnets"):
        book().instance_types(NodeSetup(), market())


@attrs.frozen
class FailsOnce:
    """A kubelet block whose expression fails for one type until that is mended."""

    failures: list[str]

    def __hash__(self) -> int:
        return id(self)

    def numbers(self, description: TypeDescription, usual_pods: int, /) -> KubeletNumbers:
        del usual_pods
        if description.instance_type in self.failures:
            raise InvalidObject("division by zero", path="maxPods")
        return KubeletNumbers(max_pods=7)


@pytest.mark.aws("AWS-061", "AWS-062")
def test_a_type_that_the_kubelet_block_fails_for_fails_all_and_nothing_is_remembered() -> None:
    kubelet, types = FailsOnce(["m5.large"]), book()
    setup = attrs.evolve(SETUP, kubelet=kubelet)
    with pytest.raises(InvalidObject, match="division by zero"):
        types.instance_types(setup, market())
    kubelet.failures.clear()
    assert {each.max_pods for each in types.instance_types(setup, market())} == {7}
