"""A controller of your own, tried in a world where it dies at every call: one bug is found, and its mended form survives.

`Night` scales Deployments with the annotation ``night: off`` to zero at eight in the evening, and back at six in the morning.
"""

import datetime as dt

from karpy.controllers.base import DONE, Request, Result, Source, by_name
from karpy.objects.kinds import DEPLOYMENT
from karpy.testing import Faults, Surroundings, World

HOUR = 3600.0


class Night:
    name = "night"
    sources = (Source(DEPLOYMENT, by_name),)

    def __init__(self, surroundings: Surroundings) -> None:
        self.kube, self.clock = surroundings.kube, surroundings.clock

    def reconcile(self, request: Request) -> Result:
        found = [
            obj
            for obj in self.kube.list(DEPLOYMENT, request.namespace).items
            if obj["metadata"]["name"] == request.name
        ]
        notes = found[0]["metadata"].get("annotations", {}) if found else {}
        if notes.get("night") != "off":
            return DONE
        now, replicas = dt.datetime.fromtimestamp(self.clock.now(), dt.UTC), found[0]["spec"]["replicas"]
        is_night = not 6 <= now.hour < 20
        if is_night and replicas:
            self.fall_asleep(request, replicas)
        elif not is_night and not replicas and "was" in notes:
            self.patch(request, {"spec": {"replicas": int(notes["was"])}})
        return Result(HOUR - (now.minute * 60 + now.second))

    def fall_asleep(self, request: Request, replicas: int) -> None:
        self.patch(request, {"spec": {"replicas": 0}})
        self.patch(request, {"metadata": {"annotations": {"was": str(replicas)}}})

    def patch(self, request: Request, patch: dict) -> None:
        self.kube.patch(DEPLOYMENT, request.name, patch, request.namespace)


class Mended(Night):
    """Writes both at once: there is no moment at which it could forget how many there were."""

    def fall_asleep(self, request: Request, replicas: int) -> None:
        self.patch(request, {"metadata": {"annotations": {"was": str(replicas)}}, "spec": {"replicas": 0}})


def replicas_next_noon(controller: type, crash: int) -> int:
    """A day and a night with three replicas, in which the controller dies after its call of this number."""
    world = World()
    world.start(lambda surroundings: [controller(surroundings)])
    world.crash_at(crash, after=True)
    pod = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "web"}]}}
    spec = {"replicas": 3, "selector": {"matchLabels": {"app": "web"}}, "template": pod}
    metadata = {"name": "web", "annotations": {"night": "off"}}
    world.apply([{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}])
    world.run(27 * HOUR)  # it begins at nine in the morning
    assert world.check() == ()
    return world.api.get(DEPLOYMENT, "web", "default")["spec"]["replicas"]


def main() -> None:
    for controller in (Night, Mended):
        bad = [crash for crash in range(10, 25) if replicas_next_noon(controller, crash) != 3]
        print(f"{controller.__name__}: of 15 nights with a crash, {len(bad)} ended without pods (after calls {bad})")
    print("any faults, in any mixture, are one line:", Faults.draw(7))


if __name__ == "__main__":
    main()
