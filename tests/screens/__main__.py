"""`python -m tests.screens FOLDER [NAME…]`: pictures of all screens, or of those named; `dev.py shots FOLDER`
calls it."""

import sys

from tests.screens.gallery import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
