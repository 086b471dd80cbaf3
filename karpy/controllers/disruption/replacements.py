"""The machines that are to take the place of those that go: their claims are made all together, or none of them is."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import partial

from karpy.controllers.disruption.remembering import succession_of
from karpy.controllers.nodeclaim.creating import create_claim, create_static_claim
from karpy.controllers.shared import Shared
from karpy.disruption.command import Command
from karpy.errors import KarpyError, KubeError
from karpy.lifecycle.launch import static_claim
from karpy.scheduling.plan import Launch
from karpy.state.snapshot import Snapshot

__all__ = ["create_replacements"]


def create_replacements(shared: Shared, command: Command, picture: Snapshot) -> tuple[str, ...]:
    """The names of the claims of the command's replacements, in its order.

    Where one is refused the others are taken back: nothing would go in their stead, and the next try would make them once more.

    Raises:
        KarpyError: one was refused.
    """
    memory = succession_of(shared, command, picture)
    launches = [partial(_try_create, shared, launch, command, memory) for launch in command.replacements]
    outcomes = shared.together(launches)
    refused = next((each for each in outcomes if isinstance(each, KarpyError)), None)
    made = tuple(each for each in outcomes if isinstance(each, str))
    if refused is not None:
        shared.together([partial(_try_delete, shared, name) for name in made])
        raise refused
    return made


def _try_create(shared: Shared, launch: Launch, command: Command, memory: Mapping[str, str]) -> str | KarpyError:
    try:
        return _create(shared, launch, command, memory)
    except KarpyError as error:
        return error


def _create(shared: Shared, launch: Launch, command: Command, memory: Mapping[str, str]) -> str:
    reason = command.reason.value.lower()
    if launch.pool.is_static:
        raw = static_claim(launch.pool, shared.clouds.labels)
        return create_static_claim(shared, launch.pool, raw, launch.instance_types_text, reason).name
    return create_claim(shared, launch, reason, memory).name


def _try_delete(shared: Shared, name: str) -> None:
    """What fails goes like all others if nobody needs it."""
    claim = shared.state.claim(name)
    if claim is not None:
        with contextlib.suppress(KubeError):
            shared.delete_claim(claim)
