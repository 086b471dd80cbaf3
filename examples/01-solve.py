"""What would be launched for the pods in 01-solve.yaml, and why? No cluster and no account is needed."""

from pathlib import Path

import karpy

objects = karpy.read_manifests(Path(__file__).with_suffix(".yaml").read_text(), "01-solve.yaml").objects
cloud = karpy.load_provider("sim")  # the instance types and prices of EC2 and Azure
cluster = karpy.Snapshot.from_objects(objects, cloud.node_classes)
snapshot, catalog = karpy.with_catalog(cluster, karpy.Clouds([cloud]))
pods = [karpy.Pod.from_dict(obj) for obj in objects if obj["kind"] == "Pod"]
plan = karpy.solve(snapshot, catalog, pods)
for pod in pods:
    print(plan.explain(pod.key))
print(f"{len(plan.launches)} machines for ${plan.price:.4f} per hour")
