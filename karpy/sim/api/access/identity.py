"""Who sends a request: a user with groups, as authentication finds it and authorization judges it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs

__all__ = ["ADMIN", "ANONYMOUS", "AUTHENTICATED", "MASTERS", "Identity", "service_account"]

MASTERS = "system:masters"
"""The group that may do everything, whatever the roles say."""
AUTHENTICATED = "system:authenticated"


@attrs.frozen
class Identity:
    """A user by name, with the groups it belongs to."""

    name: str
    groups: tuple[str, ...] = ()
    uid: str = ""
    extra: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict, eq=False)

    @property
    def is_master(self) -> bool:
        return MASTERS in self.groups

    def as_object(self) -> dict[str, Any]:
        """The ``UserInfo`` of reviews."""
        shown: dict[str, Any] = {"username": self.name}
        if self.uid:
            shown["uid"] = self.uid
        shown["groups"] = list(self.groups)
        if self.extra:
            shown["extra"] = {key: list(values) for key, values in self.extra.items()}
        return shown


ADMIN = Identity("karpy-admin", (MASTERS, AUTHENTICATED))
ANONYMOUS = Identity("system:anonymous", ("system:unauthenticated",))


def service_account(namespace: str, name: str, uid: str = "") -> Identity:
    """What a service account is called as a user.

    >>> service_account("t", "robot").name
    'system:serviceaccount:t:robot'
    """
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", AUTHENTICATED)
    return Identity(f"system:serviceaccount:{namespace}:{name}", groups, uid)
