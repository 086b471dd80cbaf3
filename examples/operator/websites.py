"""An operator for websites, made with kopf: `kopf run --all-namespaces websites.py` on any cluster, so on `karpy cluster`."""

from typing import Any

import kopf
import kubernetes

WEBSITES = ("example.org", "v1", "websites")


@kopf.on.startup()
def configure(**_: Any) -> None:
    kubernetes.config.load_kube_config()


@kopf.on.create(*WEBSITES)
def create(spec: kopf.Spec, name: str, namespace: str, patch: kopf.Patch, **_: Any) -> None:
    labels = {"website": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": spec["image"]}]}}
    deployment: dict[str, Any] = {
        "metadata": {"name": name},
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template},
    }
    kopf.adopt(deployment)  # it goes when the website goes
    kubernetes.client.AppsV1Api().create_namespaced_deployment(namespace, deployment)
    patch.status["address"] = f"http://{name}.{namespace}"


@kopf.on.update(*WEBSITES, field="spec.replicas")
def scale(new: int, name: str, namespace: str, **_: Any) -> None:
    kubernetes.client.AppsV1Api().patch_namespaced_deployment_scale(name, namespace, {"spec": {"replicas": new}})


@kopf.timer(*WEBSITES, interval=1.0)
def check(status: kopf.Status, patch: kopf.Patch, **_: Any) -> None:
    patch.status["checks"] = status.get("checks", 0) + 1


@kopf.on.delete(*WEBSITES)
def farewell(name: str, namespace: str, **_: Any) -> None:
    kubernetes.client.CoreV1Api().create_namespaced_config_map(namespace, {"metadata": {"name": f"{name}-was-here"}})
