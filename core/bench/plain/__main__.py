"""The entry point that a runner starts."""

from __future__ import annotations

from .worker import main

if __name__ == "__main__":
    raise SystemExit(main())
