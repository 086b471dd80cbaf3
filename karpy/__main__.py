"""``python -m karpy`` does what the command ``karpy`` does."""

from __future__ import annotations

from karpy.cli import main

if __name__ == "__main__":
    main()
