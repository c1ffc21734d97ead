"""The commands of the command line: functions of the arguments that return an exit code."""

OK, BUG, REFUSED, DAMAGED, STOPPED = 0, 1, 2, 3, 130
"""All went well; an error of ours; one that the user can mend; damage was found; Ctrl+C."""
