"""The volumes that are attached to nodes: a node's machine is ended only when they are off it."""

from __future__ import annotations

from karpy.objects.volumes import VolumeAttachment

__all__ = ["Attachments"]


class Attachments:
    """Attachments by node."""

    def __init__(self) -> None:
        self._on: dict[str, dict[str, VolumeAttachment]] = {}
        self._nodes: dict[str, str] = {}

    def take(self, name: str, attachment: VolumeAttachment | None) -> None:
        """This attachment is so now; None: it is gone."""
        node = self._nodes.pop(name, None)
        if node is not None:
            here = self._on[node]
            del here[name]
            if not here:
                del self._on[node]
        if attachment is not None:
            self._nodes[name] = attachment.spec.node_name
            self._on.setdefault(attachment.spec.node_name, {})[name] = attachment

    def on(self, node: str) -> tuple[VolumeAttachment, ...]:
        """Those of a node, by name."""
        found = self._on.get(node, {})
        return tuple(found[name] for name in sorted(found))
