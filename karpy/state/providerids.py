"""Which objects carry a provider id: nodes and claims meet by it, in whatever order they come and go."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["ByProviderId"]


class ByProviderId:
    """Names by provider id. Should several carry the same one, the first by name speaks for it. The empty id is nobody's."""

    def __init__(self) -> None:
        self._names: dict[str, set[str]] = {}

    def add(self, provider_id: str, name: str) -> None:
        if provider_id:
            self._names.setdefault(provider_id, set()).add(name)

    def remove(self, provider_id: str, name: str) -> None:
        names = self._names.get(provider_id)
        if names is not None:
            names.discard(name)
            if not names:
                del self._names[provider_id]

    def all(self, provider_id: str) -> Iterable[str]:
        return self._names.get(provider_id, ())

    def first(self, provider_id: str) -> str:
        """The name that speaks for the id; empty when there is none."""
        return min(self._names.get(provider_id, ()), default="")
