"""The program: command line, start-up, paths, settings, logging, crash report."""

__version__ = "0.1.0"


def add_window_to_benchmark() -> None:
    """Add the real window as a system of the benchmark, which itself does not use Qt. Only the child process
    that measures the window loads it."""
    from lamella.core.bench.registry import add_class

    add_class("lamella", "window", "lamella.app.bootstrap:window_system")
