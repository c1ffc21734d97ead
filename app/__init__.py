"""The program: command line, start-up, paths, settings, logging, crash report."""

__version__ = "0.1.0"


def add_window_to_benchmark() -> None:
    """Let the real window take part in the benchmark, which knows no Qt. It is loaded in the child process
    that measures it."""
    from lamella.core.bench.registry import add_class

    add_class("lamella", "window", "lamella.app.bootstrap:window_system")
