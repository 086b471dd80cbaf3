from __future__ import annotations

import base64

import attrs
import pytest

from karpy.errors import NodeClassNotReady
from karpy.labels import KUBELET_CONVERSION
from karpy.objects.meta import ObjectMeta
from karpy.objects.nodeclaim import NodeClaim
from karpy_aws.machines import instance_id
from tests.karpy_aws.providerworld import POOL, Setup, claim, launched

BLOCK = {"maxPods": 7}
OLDER = attrs.evolve(POOL, kubelet=BLOCK)


def of_older_pool(text: str = '{"maxPods":7}') -> NodeClaim:
    made = claim()
    marked = ObjectMeta(name=made.name, labels=made.labels, annotations={KUBELET_CONVERSION: text})
    return attrs.evolve(made, metadata=marked)


def test_types_of_a_pool_with_a_block_have_room_for_as_many_pods_as_it_says() -> None:
    setup = Setup.of()
    raw = setup.resolved(kubelet={"maxPods": 9})
    with_block, without = (setup.provider.instance_types(pool, raw) for pool in (OLDER, POOL))
    assert {type_.max_pods for type_ in with_block} == {7}
    assert {type_.max_pods for type_ in without} == {9}
    assert setup.provider.instance_types(attrs.evolve(OLDER, kubelet=dict(BLOCK)), raw) is with_block


def test_a_machine_is_told_the_block_of_its_claim_and_drifts_by_the_class_alone() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    asked = of_older_pool()
    instance = setup.provider.create(asked, raw, list(setup.provider.instance_types(OLDER, raw)))
    text = base64.b64decode(setup.world.user_data[instance_id(instance.provider_id)]).decode()
    assert "maxPods: 7" in text
    assert setup.provider.drift_reason(launched(asked, instance), OLDER, raw) is None


def test_a_block_that_cannot_be_read_is_told() -> None:
    setup = Setup.of()
    raw = setup.resolved()
    with pytest.raises(NodeClassNotReady, match="maxPods"):
        setup.provider.instance_types(attrs.evolve(POOL, kubelet={"maxPods": []}), raw)
    with pytest.raises(NodeClassNotReady, match=r"v1beta1-kubelet-conversion.*a kubelet block as JSON"):
        setup.provider.create(of_older_pool("{"), raw, setup.choices(raw))
