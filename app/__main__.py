"""`python -m lamella.app`, the `lamella` command and the bundle all start here."""

from __future__ import annotations

import sys

from lamella.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
