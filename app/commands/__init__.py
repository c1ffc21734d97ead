"""One file per command of the command line; each has `run(arguments) -> exit code`."""

OK, BUG, REFUSED, DAMAGED, STOPPED = 0, 1, 2, 3, 130
"""All went well; an error of ours; one that the user can mend; damage was found; Ctrl+C."""
