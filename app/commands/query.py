"""`lamella query`: SQL over the tables of a store, printed."""

from __future__ import annotations

import argparse
import sys

from app.output import FORMATS
from core import Store


def run(arguments: argparse.Namespace) -> int:
    with Store.open(arguments.store, read_only=True) as store:
        answer = store.sql(arguments.sql)
    FORMATS[arguments.format](answer, sys.stdout)
    sys.stdout.flush()
    return 0
