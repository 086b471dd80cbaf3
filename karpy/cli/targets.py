"""What a command is asked about, as kubectl lets one say it: ``node/web-1``, ``Nodes/web-1``, ``node web-1``, ``po/shop/cart``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from karpy.cli.bad_input import BadInput
from karpy.objects.kinds import NODE, NODE_CLAIM, NODE_POOL, POD, Kind

__all__ = ["Target", "read_targets"]

_ACCEPTED = "node/NAME, nodeclaim/NAME, nodepool/NAME, pod/NAME or pod/NAMESPACE/NAME"
_SHORT = {"no": NODE, "po": POD}
_OLD = {"machine": NODE_CLAIM, "machines": NODE_CLAIM, "provisioner": NODE_POOL, "provisioners": NODE_POOL}
_KINDS = (
    _SHORT
    | _OLD
    | {word: kind for kind in (NODE, NODE_CLAIM, NODE_POOL, POD) for word in (kind.kind.lower(), kind.plural)}
)


@attrs.frozen
class Target:
    """One object; ``namespace`` is empty where none was named."""

    kind: Kind
    name: str
    namespace: str = ""

    def __str__(self) -> str:
        return "/".join(part for part in (self.kind.kind.lower(), self.namespace, self.name) if part)


def read_targets(words: Sequence[str], namespace: str = "") -> tuple[tuple[Target, ...], tuple[Path, ...]]:
    """The objects that ``words`` name, and the files among them: a shell may have put some there (``--from *.yaml``).

    Raises:
        BadInput: a word is neither, or no object is named.
    """
    found: list[Target] = []
    files: list[Path] = []
    left = list(words)
    while left:
        word = left.pop(0)
        head, slash, name = word.partition("/")
        kind = _kind(head)
        if kind is not None and not slash and left:
            name = left.pop(0)
        if kind is not None and name:
            found.append(_target(kind, name, namespace, word))
        elif word == "-" or Path(word).exists():
            files.append(Path(word))
        else:
            raise BadInput(f"found {word!r} (accepted: {_ACCEPTED})")
    if not found:
        raise BadInput(f"what about? (accepted: {_ACCEPTED})")
    return tuple(found), tuple(files)


def _kind(word: str) -> Kind | None:
    """As kubectl does: the kind or its plural, in any case, perhaps with its group (and version) behind a dot."""
    name, _, rest = word.lower().partition(".")
    kind = _KINDS.get(name)
    if kind is None or (rest and rest not in (kind.group, f"{kind.version}.{kind.group}", kind.version)):
        return None
    return kind


def _target(kind: Kind, name: str, namespace: str, word: str) -> Target:
    own, slash, last = name.rpartition("/")
    if not slash:
        return Target(kind, name, namespace if kind.namespaced else "")
    if not kind.namespaced or "/" in own or not (own and last):
        raise BadInput(f"found {word!r} (accepted: {_ACCEPTED})")
    if namespace and namespace != own:
        raise BadInput(f"found {word!r} with --namespace {namespace} (accepted: one of the two)")
    return Target(kind, last, own)
