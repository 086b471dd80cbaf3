"""The differences between karpy and the recordings, each with its reason."""

from __future__ import annotations

from collections.abc import Sequence

from tests.scenarios.lifecycle.comparing import Listed

__all__ = ["DELIBERATE", "EXPECTED_LATER", "LISTED", "NEXT", "NOT_COMPARABLE"]

DELIBERATE: Sequence[Listed] = ()
"""What karpy does otherwise on purpose."""

NOT_COMPARABLE: Sequence[Listed] = ()
"""What is otherwise around karpy than it was around Karpenter."""

NEXT: Sequence[Listed] = ()
"""What comes with the disruption methods."""

EXPECTED_LATER: Sequence[Listed] = (Listed("…", "the life cycle is being built"),)
"""What is being built."""

LISTED: Sequence[Listed] = (*DELIBERATE, *NOT_COMPARABLE, *NEXT, *EXPECTED_LATER)
