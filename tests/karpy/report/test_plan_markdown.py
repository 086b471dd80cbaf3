from __future__ import annotations

from karpy.report.plan_markdown import outlook_markdown
from karpy.report.plan_words import dollars
from karpy.testing.builders import make_nodepool
from tests.karpy.report.outlooks import busy, idle, outlook, with_buffers


def test_everything_that_has_to_be_done_is_there() -> None:
    found = outlook(*busy(), name="monday", notes=("assumed",))
    assert outlook_markdown(found) == (
        "### karpy plan: monday\n"
        "\n"
        "> assumed\n"
        "\n"
        "**Launch 3 machines for 3 pods: \\$0.6400/h**\n"
        "\n"
        "| machines | pool | type | zone | capacity | $/h each | pods |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| 2 | default | a16 +1 | zone-a | spot | 0.2560 | 2 |\n"
        "| 1 | default | a8 +3 | zone-a | spot | 0.1280 | 1 |\n"
        "\n"
        "<details><summary>what each machine is for</summary>\n"
        "\n"
        "- a16 in zone-a: 9 cpu, 20.0Gi memory for large-1\n"
        "- a16 in zone-a: 9 cpu, 20.0Gi memory for large-2\n"
        "- a8 in zone-a: 8 cpu for other/small\n"
        "\n"
        "</details>\n"
        "\n"
        "**1 pod fits on 1 machine that is there or on its way**\n"
        "\n"
        "| node | pods |\n"
        "| --- | --- |\n"
        "| old | fits |\n"
        "\n"
        "**2 pods find no place**\n"
        "\n"
        "- huge-1, huge-2\n"
        '  - incompatible with nodepool "default": request of 99 cpu (the most that any type has left beside daemons is 16): '
        "excludes 10 of 10 instance types\n"
        "\n"
        "Total: 4 pods placed, 2 waiting, 3 new machines, \\$0.6400/h; no machines that hold these pods cost less than "
        f"\\{dollars(found.bound)}\n"
        "\n"
        "**Disrupt nothing: there is no node that karpy launched.**\n"
    )


def test_disruption_is_a_list_and_a_table() -> None:
    lines = outlook_markdown(outlook(*idle(), provisioning=False)).splitlines()
    assert lines[2:6] == [
        "**Disrupt 1 node of 2 next, by emptiness**",
        "",
        "- Delete free: 1 empty node(s) cost \\$0.2000/h for nothing",
        "  - saves \\$0.2000/h, about \\$146.00 a month; no pod moves",
    ]
    assert lines[7:10] == [
        "| nodes that stay | because |",
        "| --- | --- |",
        '| held | Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/keep) |',
    ]


def test_names_cannot_break_the_layout() -> None:
    text = outlook_markdown(outlook(make_nodepool(), name="<b>|`*_x_*\n# y"))
    assert text.splitlines()[0] == "### karpy plan: &lt;b&gt;\\|\\`\\*\\_x\\_\\* # y"


def test_room_in_reserve_is_a_list() -> None:
    text = outlook_markdown(outlook(*with_buffers(), disruption=False))
    assert "2 cpu for room for 2 pods of capacity buffer spare\n" in text
    assert "\n- capacity buffer spare, room for 2 pods: 2 on new machines\n" in text
