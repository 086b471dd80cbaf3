from __future__ import annotations

import pytest

from karpy.report.plan_text import outlook_text
from karpy.report.plan_words import dollars
from karpy.testing.builders import make_nodepool, make_pod
from tests.karpy.report.outlooks import busy, idle, outlook, spare, with_buffers


def test_everything_that_has_to_be_done_is_there() -> None:
    found = outlook(*busy(), name="monday", notes=("assumed",), disruption=False)
    assert outlook_text(found, 100) == (
        "monday\n"
        "\n"
        "note: assumed\n"
        "\n"
        "Launch 3 machines for 3 pods: $0.6400/h\n"
        "\n"
        "  N  POOL     TYPE    ZONE    CAPACITY  $/H     PODS\n"
        "  2  default  a16 +1  zone-a  spot      0.2560  2\n"
        "     9 cpu, 20.0Gi memory for large-1\n"
        "     9 cpu, 20.0Gi memory for large-2\n"
        "  1  default  a8 +3   zone-a  spot      0.1280  1\n"
        "     8 cpu for other/small\n"
        "\n"
        "1 pod fits on 1 machine that is there or on its way\n"
        "\n"
        "  old: fits\n"
        "\n"
        "2 pods find no place\n"
        "\n"
        "  huge-1, huge-2\n"
        '     incompatible with nodepool "default": request of 99 cpu (the most that any type has left beside\n'
        "       daemons is 16): excludes 10 of 10 instance types\n"
        "\n"
        "Total: 4 pods placed, 2 waiting, 3 new machines, $0.6400/h; no machines that hold these pods cost\n"
        f"less than {dollars(found.bound)}\n"
    )


def test_prose_keeps_to_the_width() -> None:
    found = outlook(*busy(), notes=("a note of some length, as those about node classes are, and then a little more",))
    assert max(len(line) for line in outlook_text(found, 60).splitlines()) <= 76
    assert all(len(line) <= 120 for line in outlook_text(found, 120).splitlines())


def test_many_like_machines_are_one_row() -> None:
    pods = [make_pod(f"p{number:02d}", requests={"cpu": "9"}) for number in range(7)]
    text = outlook_text(outlook(make_nodepool(), *pods), 100)
    assert "  7  default" in text
    assert text.count("9 cpu for p") == 4
    assert "and 3 more machines for 3 pods" in text


def test_of_many_pods_the_first_are_named() -> None:
    pods = [make_pod(f"p{number}", requests={"cpu": "100m"}) for number in range(9)]
    assert "0.9 cpu for p0, p1, p2, p3, p4, p5 and 3 more\n" in outlook_text(outlook(make_nodepool(), *pods), 100)


def test_what_is_disrupted_stands_with_its_reason_and_what_stays_too() -> None:
    text = outlook_text(outlook(*idle(), provisioning=False), 100)
    assert text == (
        "Disrupt 1 node of 2 next, by emptiness\n"
        "\n"
        "  Delete free: 1 empty node(s) cost $0.2000/h for nothing\n"
        "     saves $0.2000/h, about $146.00 a month; no pod moves\n"
        "\n"
        "What stays, and why\n"
        "\n"
        '  held: Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/keep)\n'
        "\n"
        "What budgets allow now\n"
        "\n"
        '  2 of 2 nodes of pool "default" may go: budget nodes=100%\n'
    )


def test_where_pods_go_is_told() -> None:
    text = outlook_text(outlook(*spare(), provisioning=False), 100)
    assert "Delete loose: " in text
    assert "     saves $0.2000/h, about $146.00 a month; 2 pods move\n     to node tight: a, b\n" in text


def test_nothing_to_do_is_said() -> None:
    assert outlook_text(outlook(make_nodepool()), 100) == (
        "No pod waits for a node.\n\nDisrupt nothing: there is no node that karpy launched.\n"
    )


@pytest.mark.parametrize("width", [0, 1, 40, 1000])
def test_any_width_will_do(width: int) -> None:
    assert outlook_text(outlook(*busy()), width).endswith("\n")


def test_room_in_reserve_stands_beside_the_pods() -> None:
    text = outlook_text(outlook(*with_buffers(make_pod("web", requests={"cpu": "1"})), disruption=False), 100)
    assert text.startswith("Launch 1 machine for 1 pod and room for 2 pods more: ")
    assert "3 cpu for web and room for 2 pods of capacity buffer spare\n" in text
    assert "capacity buffer spare, room for 2 pods: 2 on new machines\n" in text
    assert "capacity buffer vain, room for 1 pod: 1 nowhere: incompatible with nodepool" in text


def test_machines_may_be_for_room_alone() -> None:
    text = outlook_text(outlook(*with_buffers(), disruption=False), 100)
    assert text.startswith("Launch 1 machine for room for 2 pods: ")
    assert "2 cpu for room for 2 pods of capacity buffer spare\n" in text
    assert "Total: 0 pods placed, 0 waiting, 1 new machine, " in text
