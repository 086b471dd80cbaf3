"""A cluster in this process: pods come, karpy brings a node, the pods go, the node goes. Half an hour takes a blink."""

import logging
from pathlib import Path

import structlog

import karpy
from karpy.sim.world import World

structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))

manifests = Path(__file__).with_name("eks.yaml")
world = World(seed=1, models=karpy.load_models())
operator = karpy.Operator(kube=world.api, providers=[world.cloud], clock=world.clock)
world.install(operator)
world.apply(karpy.read_manifests(manifests.read_text(), manifests.name).objects)


def scale(replicas: int) -> None:
    world.apply(
        [
            {
                "apiVersion": "apps/v1",
                "kind": "Deployment",
                "metadata": {"name": "inflate"},
                "spec": {"replicas": replicas},
            }
        ]
    )


for replicas in (12, 2, 0):
    scale(replicas)
    world.run(600)
    nodes = [f"{m.instance_type.name} in {m.offering.zone} at ${m.price:.4f}/h" for m in world.cloud.machines]
    print(f"{replicas} pods: {', '.join(nodes) or 'no nodes'}")
print(f"${world.cloud.cost():.4f} spent")
