"""Why an operator cannot be applied, before it is known where."""

from __future__ import annotations


class Refusal(Exception):
    """`reason` is a sentence without its subject: what is wrong with the values or the operand."""

    def __init__(self, reason: str, fix: str = "") -> None:
        self.reason, self.fix = reason, fix
        super().__init__(reason)
