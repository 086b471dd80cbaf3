"""Volumes that a cloud's machines cannot use."""

from __future__ import annotations

import attrs

__all__ = ["UnsupportedVolumes"]


@attrs.frozen
class UnsupportedVolumes:
    """Pods with such volumes are refused by name instead of getting a machine that they cannot run on.

    ``provisioners``: CSI drivers that do not run on its machines. ``topology_keys``: labels that its machines never have, by
    which a StorageClass may restrict where its volumes are made.
    """

    provisioners: frozenset[str] = frozenset()
    topology_keys: frozenset[str] = frozenset()

    def __or__(self, other: UnsupportedVolumes) -> UnsupportedVolumes:
        return UnsupportedVolumes(self.provisioners | other.provisioners, self.topology_keys | other.topology_keys)
