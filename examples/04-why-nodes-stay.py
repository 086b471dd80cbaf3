"""Which nodes of a small cluster go, and why does each of the others stay? No cluster and no account is needed."""

import karpy
from karpy.testing import START, make_catalog, make_condition, make_machine, make_nodepool, make_pod

MARK = {"karpenter.sh/do-not-disrupt": "true"}
NEVER = [{"nodes": "0", "schedule": "0 9 * * mon-fri", "duration": "8h"}]  # it is nine on a Monday


def machine(name, *pods, **more):
    """A machine with four cores that nobody has touched for a while, and pods of one core unless they say otherwise."""
    running = (make_pod(f"{name}-{n}", node=name, **{"requests": {"cpu": "1"}} | pod) for n, pod in enumerate(pods))
    return [*make_machine(name, instance_type="c4", conditions=[make_condition("Consolidatable")], **more), *running]


objects = [
    make_nodepool(disruption={"consolidateAfter": "0s", "budgets": [{"nodes": "50%"}]}),
    make_nodepool("office", disruption={"consolidateAfter": "0s", "budgets": NEVER}),
    make_nodepool("careful", disruption={"consolidateAfter": "0s", "consolidationPolicy": "WhenEmpty"}),
    *machine("nearly-empty", {}),
    *machine("half-full", {}, {}),
    *machine("full", {"requests": {"cpu": "4"}}, capacity_type="spot"),
    *machine("in-office", {}, pool="office"),
    *machine("in-care", {}, pool="careful"),
    *machine("protected", {"annotations": MARK}),
]
snapshot = karpy.Snapshot.from_objects(objects)
survey = karpy.Survey(snapshot, make_catalog(snapshot), now=START)

for command in survey.next.commands:
    print(command.explain())
    for move in command.moves:
        place = move.to if isinstance(move.to, str) else f"new machine {move.to + 1}"
        print(f"  {move.pod} moves to {place}")
for node in survey.nodes:
    verdict = survey.verdict(node.name)
    print(f"{node.name:<13}{verdict.kind:<13} {verdict}")
for allowance in survey.allowances:
    print(allowance)
