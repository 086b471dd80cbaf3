"""`LaunchTemplateCache`: makes launch templates when they are first needed, and removes those that nobody needs any more."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs

from karpy.clock import Clock
from karpy_aws import labels
from karpy_aws.api import EC2API, items
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.launchtemplates import LaunchTemplate

__all__ = ["LaunchTemplateCache"]

IDLE_S: Final = 600.0
_SETTLING_S: Final = 5.0
"""For so long EC2 may not find what it has just made."""
_PAGE: Final = 200
_CLUSTER_TAGS: Final = ("eks:eks-cluster-name", "karpenter.k8s.aws/cluster")
"""Either marks a template as this cluster's: the second is that of generations before EC2NodeClass."""
_ALREADY_EXISTS: Final = "InvalidLaunchTemplateName.AlreadyExistsException"


@attrs.define
class _Known:
    """A template that is there, or is being made or removed by whoever holds the lock."""

    exists: bool = False
    users: int = 0
    used_at: float = 0.0
    sure_until: float = 0.0
    """Until then it is there, whatever EC2 finds: it was just made, or its name was taken."""
    lock: threading.Lock = attrs.field(factory=threading.Lock)


class LaunchTemplateCache:
    """The launch templates of one cluster.

    A template stays for ``idle_s`` after its last launch, so that a pool that grows step by step makes it once. One that a
    launch is using is never removed. Safe to use from many threads: callers who need the same template wait for the first
    of them, others do not wait for one another.
    """

    def __init__(self, ec2: EC2API, clock: Clock, *, cluster: str, idle_s: float = IDLE_S) -> None:
        self._ec2 = ec2
        self._clock = clock
        self._cluster = cluster
        self._idle_s = idle_s
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def load(self) -> int:
        """Learn of the templates that an earlier life of karpy left, so that they are removed too. How many there are.

        Raises:
            AWSError: EC2 failed.
        """
        found = {name for tag in _CLUSTER_TAGS for name in self._listed({tag: self._cluster})}
        with self._lock:
            for name in found:
                self._known.setdefault(name, _Known(used_at=self._clock.now())).exists = True
        return len(found)

    @contextmanager
    def using(self, templates: Iterable[LaunchTemplate]) -> Iterator[None]:
        """While the block runs these templates exist; a template of the user's own is left to the user.

        Raises:
            AWSError: EC2 would not say whether one exists, or would not make it.
        """
        own = [template for template in templates if template.request is not None]
        held: list[_Known] = []
        try:
            for template in own:
                held.append(self._held(template))
                self._ensure(template, held[-1])
            yield
        finally:
            with self._lock:
                for known in held:
                    known.users -= 1
                    known.used_at = self._clock.now()

    def _held(self, template: LaunchTemplate) -> _Known:
        with self._lock:
            known = self._known.setdefault(template.name, _Known())
            known.users += 1
            return known

    def _ensure(self, template: LaunchTemplate, known: _Known) -> None:
        with known.lock:
            if not known.exists:
                if not self._is_there(template.name):
                    self._create(template)
                    known.sure_until = self._clock.now() + _SETTLING_S
                known.exists = True

    def _is_there(self, name: str) -> bool:
        try:
            answer = self._ec2.describe_launch_templates({"LaunchTemplateNames": [name]})
        except AWSError as error:
            if error.has(ErrorClass.NOT_FOUND):
                return False
            raise
        return bool(answer.get("LaunchTemplates"))

    def _create(self, template: LaunchTemplate) -> None:
        assert template.request is not None
        try:
            self._ec2.create_launch_template(template.request)
        except AWSError as error:
            if error.code != _ALREADY_EXISTS:  # else another was faster; names are contents, so that it is the same
                raise

    def forget(self, names: Iterable[str]) -> None:
        """Look again before the next launch: EC2 did not know these any more. One that is just made it does not know yet."""
        now = self._clock.now()
        with self._lock:
            for name in names:
                known = self._known.get(name)
                if known is not None and known.sure_until <= now:
                    known.exists = False

    def collect(self) -> tuple[str, ...]:
        """Remove the templates that have been idle for long enough. The names removed.

        What EC2 will not remove now is tried again the next time.

        Raises:
            AWSError: EC2 would not remove one, and it is there; the others that were due are gone.
        """
        removed: list[str] = []
        problem: AWSError | None = None
        for name in self._idle():
            try:
                if self._remove(name):
                    removed.append(name)
            except AWSError as error:
                problem = error
        if problem is not None:
            raise problem
        return tuple(removed)

    def _idle(self) -> tuple[str, ...]:
        due = self._clock.now() - self._idle_s
        with self._lock:
            return tuple(
                sorted(name for name, known in self._known.items() if not known.users and known.used_at <= due)
            )

    def _remove(self, name: str) -> bool:
        """Whether it is gone. A launch that wants it meanwhile waits for the lock, and then makes it anew."""
        with self._lock:
            known = self._known.get(name)
        if known is None:
            return False
        with known.lock:
            with self._lock:
                if known.users:
                    return False
            was_there = known.exists
            if was_there:
                self._delete(name)
                known.exists = False
            with self._lock:
                if not known.users:
                    del self._known[name]
        return was_there

    def _delete(self, name: str) -> None:
        try:
            self._ec2.delete_launch_template({"LaunchTemplateName": name})
        except AWSError as error:
            if not error.has(ErrorClass.NOT_FOUND):
                raise

    def remove_of_class(self, node_class: str) -> tuple[str, ...]:
        """Remove every template of a node class that is going away. The names removed.

        Raises:
            AWSError: EC2 failed; what was not removed is still there.
        """
        found = self._listed({_CLUSTER_TAGS[0]: self._cluster, labels.NODE_CLASS: node_class})
        for name in found:
            self._delete(name)
        with self._lock:
            for name in found:
                if name in self._known:
                    self._known[name].exists = False
        return tuple(found)

    def _listed(self, tags: Mapping[str, str]) -> list[str]:
        """The names of templates that bear these tags."""
        request: dict[str, Any] = {
            "Filters": [{"Name": f"tag:{key}", "Values": [value]} for key, value in tags.items()],
            "MaxResults": _PAGE,
        }
        listed = items(self._ec2.describe_launch_templates, request, "LaunchTemplates")
        return sorted(template["LaunchTemplateName"] for template in listed)
