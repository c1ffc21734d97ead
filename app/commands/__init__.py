"""The commands of the command line: functions of the arguments that return an exit code."""

OK, BUG, REFUSED, DAMAGED, STOPPED = 0, 1, 2, 3, 130
"""Exit codes: success; a bug; an error that the user can fix; damage was found; stopped with Ctrl+C."""
