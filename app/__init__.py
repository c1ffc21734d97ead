"""The program: command line, start-up, paths, settings, logging, crash report."""

__version__ = "0.1.0"
