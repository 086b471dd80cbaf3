"""What a user asked for that cannot be done, and files that cannot be read."""

from __future__ import annotations

from karpy.errors import KarpyError

__all__ = ["BadInput"]


class BadInput(KarpyError):
    """The command line, or a file that it names, is not usable. One problem a line."""
