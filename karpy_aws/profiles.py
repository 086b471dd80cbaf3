"""Instance profiles: what carries a node class's role to its machines, made and deleted by karpy where a class names a role.

A profile's name is computed from its class and its role, so that making it twice makes one, whatever was forgotten in between; a
class with another role gets another profile, and machines that were launched with the old one keep it. Karpenter's names hold
something random instead; profiles that it made are kept as long as they carry the right role.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import attrs

from karpy.clock import Clock, SystemClock
from karpy_aws import labels
from karpy_aws.api import IAMAPI, items
from karpy_aws.errors import AWSError, ErrorClass
from karpy_aws.machines import CLUSTER_NAME_TAG

__all__ = ["Profiles", "WantedProfile", "garbage", "profile_name", "role_name"]

_KNOWN_S: Final = 900.0
_ROLE_MISSING_S: Final = 60.0
_PROTECTED_S: Final = 3_600.0
_REGION_TAG: Final = "topology.kubernetes.io/region"


@attrs.frozen(kw_only=True)
class WantedProfile:
    """What a node class asks for. ``role`` may have a path."""

    class_name: str
    class_uid: str
    role: str
    tags: Mapping[str, str] = attrs.field(factory=dict)


def role_name(role: str) -> str:
    """A role without its path, as profiles name it.

    >>> role_name("team/nodes")
    'nodes'
    """
    return role.rpartition("/")[2]


def profile_name(cluster: str, region: str, wanted: WantedProfile) -> str:
    """The name of the profile of a class with this role.

    >>> profile_name("mine", "us-west-2", WantedProfile(class_name="default", class_uid="1", role="nodes"))
    'mine_4356823122142071623'
    """
    parts = "\0".join((region, wanted.class_name, wanted.class_uid, role_name(wanted.role)))
    digest = hashlib.sha256(parts.encode()).digest()
    return f"{cluster}_{int.from_bytes(digest[:8], 'big')}"


class Profiles:
    """The instance profiles of one cluster. Used from several threads; each class from one at a time."""

    def __init__(self, iam: IAMAPI, cluster: str, region: str, *, clock: Clock | None = None) -> None:
        self._iam = iam
        self._cluster = cluster
        self._region = region
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._known: dict[str, tuple[str, float]] = {}
        """By profile, its role and until when that is believed."""
        self._missing_roles: dict[str, tuple[AWSError, float]] = {}
        self._protected: dict[str, float] = {}

    @property
    def path(self) -> str:
        """Where in IAM the profiles of all classes of the cluster are."""
        return f"/karpenter/{self._region}/{self._cluster}/"

    def ensure(self, wanted: WantedProfile, current: str = "") -> str:
        """The name of a profile with the class's role; ``current`` is the one that its status names, and stays if it is right.

        Raises:
            AWSError: IAM could not be asked, or has no such role.
        """
        role = role_name(wanted.role)
        if current and self._role_of(current) == role:
            return current
        self._refuse_missing(role)
        name = profile_name(self._cluster, self._region, wanted)
        if self._role_of(name) != role:
            self._make(name, role, wanted)
        self._protect(current, name)
        return name

    def delete(self, name: str) -> None:
        """Delete a profile, and take its role out first. One that is not there is fine.

        Raises:
            AWSError: naming what was refused.
        """
        with self._lock:
            self._known.pop(name, None)
        try:
            self._empty(self._get(name))
            self._iam.delete_instance_profile({"InstanceProfileName": name})
        except AWSError as error:
            if not error.has(ErrorClass.NOT_FOUND):
                raise

    def delete_of_class(self, class_uid: str) -> None:
        """Delete all profiles of a class that is deleted itself."""
        for name in self._names_under(f"{self.path}{class_uid}/"):
            self.delete(name)

    def collect_garbage(self, current: Collection[str], in_use: Collection[str]) -> tuple[str, ...]:
        """Delete the profiles that no class and no machine needs, and say which. One that cannot be deleted is left for next time.

        Raises:
            AWSError: the profiles could not be listed.
        """
        deleted = []
        for name in garbage(self._names_under(self.path), current, in_use, self._protected_now()):
            try:
                self.delete(name)
            except AWSError:  # the others are not worse for it
                continue
            deleted.append(name)
        return tuple(deleted)

    def _names_under(self, path: str) -> list[str]:
        """Some stand-ins for IAM ignore the path."""
        found = items(self._iam.list_instance_profiles, {"PathPrefix": path}, "InstanceProfiles")
        return [profile["InstanceProfileName"] for profile in found if profile["Path"].startswith(path)]

    def _get(self, name: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._iam.get_instance_profile({"InstanceProfileName": name})["InstanceProfile"]
        return found

    def _role_of(self, name: str) -> str | None:
        """The role in a profile, empty when it has none; None when there is no such profile."""
        now = self._clock.now()
        with self._lock:
            role, until = self._known.get(name, ("", 0.0))
        if now < until:
            return role
        try:
            roles = self._get(name).get("Roles") or ()
        except AWSError as error:
            if not error.has(ErrorClass.NOT_FOUND):
                raise
            return None
        role = roles[0]["RoleName"] if roles else ""
        self._know(name, role)
        return role

    def _know(self, name: str, role: str) -> None:
        with self._lock:
            self._known[name] = (role, self._clock.now() + _KNOWN_S)

    def _make(self, name: str, role: str, wanted: WantedProfile) -> None:
        is_new = self._create(name, wanted)
        try:
            if not is_new:
                self._empty(self._get(name))
            self._iam.add_role_to_instance_profile({"InstanceProfileName": name, "RoleName": role})
        except AWSError as error:
            if is_new:
                self._try_to_delete(name)
            if error.has(ErrorClass.NOT_FOUND) and "role" in error.message.lower():
                with self._lock:
                    self._missing_roles[role] = (error, self._clock.now() + _ROLE_MISSING_S)
            raise
        self._know(name, role)

    def _create(self, name: str, wanted: WantedProfile) -> bool:
        """Whether it was not there yet."""
        tags = {
            **wanted.tags,
            f"kubernetes.io/cluster/{self._cluster}": "owned",
            CLUSTER_NAME_TAG: self._cluster,
            labels.NODE_CLASS: wanted.class_name,
            _REGION_TAG: self._region,
        }
        try:
            self._iam.create_instance_profile(
                {
                    "InstanceProfileName": name,
                    "Path": f"{self.path}{wanted.class_uid}/",
                    "Tags": [{"Key": key, "Value": value} for key, value in sorted(tags.items())],
                }
            )
        except AWSError as error:
            if not error.has(ErrorClass.ALREADY_EXISTS):
                raise
            return False
        return True

    def _empty(self, profile: Mapping[str, Any]) -> None:
        for role in profile.get("Roles") or ():
            self._iam.remove_role_from_instance_profile(
                {"InstanceProfileName": profile["InstanceProfileName"], "RoleName": role["RoleName"]}
            )

    def _try_to_delete(self, name: str) -> None:
        try:
            self.delete(name)
        except AWSError:
            return  # what went wrong before is what is told

    def _refuse_missing(self, role: str) -> None:
        """A role that IAM does not know is not asked for again at once: each try would make a profile and delete it."""
        with self._lock:
            error, until = self._missing_roles.get(role, (None, 0.0))
        if error is not None and self._clock.now() < until:
            raise error

    def _protect(self, *names: str) -> None:
        """Machines may be under way with a profile that no object names yet, or names no longer."""
        with self._lock:
            self._protected.update(dict.fromkeys(filter(None, names), self._clock.now() + _PROTECTED_S))

    def _protected_now(self) -> set[str]:
        with self._lock:
            return {name for name, until in self._protected.items() if self._clock.now() < until}


def garbage(
    listed: Iterable[str], current: Collection[str], in_use: Collection[str], protected: Collection[str]
) -> tuple[str, ...]:
    """The profiles that nothing needs: no class has them in its status, no machine was launched with them, and none is new."""
    return tuple(name for name in listed if name not in current and name not in in_use and name not in protected)
