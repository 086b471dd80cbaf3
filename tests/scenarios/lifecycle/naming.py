"""Names for what has a name of its own in each run: generated names, ids and times become what they stand for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tests.scenarios.lifecycle.tape import Tape

__all__ = ["Names"]

_TIME = re.compile(r"<time[^>]*>|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_UID = re.compile(r"<uid\d+>|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ZONE = re.compile(r"test-zone-[a-d]\b")


class Names:
    """What the objects of a run are called in its story."""

    def __init__(self, tape: Tape) -> None:
        self._roles: dict[str, str] = {}
        claims = self._name_claims(tape)
        self._name_nodes(tape, claims)
        self._name_pods(tape)
        longest_first = sorted(self._roles, key=len, reverse=True)
        self._known = re.compile(rf"(?<![\w.-])(?:{'|'.join(map(re.escape, longest_first))})(?![\w-])")

    def of(self, name: str) -> str:
        """An object's name, or what stands for it."""
        return self._roles.get(name, name)

    def plain(self, text: str) -> str:
        """``text`` with nothing in it that is another in every run."""
        if self._roles:
            text = self._known.sub(lambda found: self._roles[found[0]], text)
        return _ZONE.sub("<zone>", _UID.sub("<uid>", _TIME.sub("<time>", text)))

    def _name_claims(self, tape: Tape) -> dict[str, str]:
        """Claims that a pool has are called after it. Returns the claims' provider ids."""
        machines = {}
        for change in tape.of("NodeClaim"):
            metadata = change.object["metadata"]
            if metadata.get("generateName"):
                self._roles[metadata["name"]] = f"{metadata['generateName']}*"
            provider_id = (change.object.get("status") or {}).get("providerID")
            if provider_id:
                machines[provider_id] = self.of(metadata["name"])
                self._roles[provider_id] = "<provider id>"
        return machines

    def _name_nodes(self, tape: Tape, claims: Mapping[str, str]) -> None:
        for change in tape.of("Node"):
            claim = claims.get(change.object["spec"].get("providerID", ""))
            if claim is not None:
                self._roles[change.key] = f"<node of {claim}>"

    def _name_pods(self, tape: Tape) -> None:
        for change in tape.of("Pod"):
            owner = _owner(change.object)
            if owner is not None:
                self._roles[change.object["metadata"]["name"]] = f"{owner}-*"


def _owner(obj: Mapping[str, Any]) -> str | None:
    owners = obj["metadata"].get("ownerReferences") or ()
    return next((owner["name"] for owner in owners if owner["kind"] == "ReplicaSet"), None)
