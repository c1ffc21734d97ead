"""The main job, done by the real window on the sample data, with a picture of every screen.

For machines without a display, for the README, and to see that a bundle works. It uses a home of its own.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from lamella.app import crash, logs
from lamella.app.camera import Camera
from lamella.app.event_loop import wait_until
from lamella.app.program import Program, application
from lamella.app.tour_steps import STEPS

PATIENCE_SECONDS = 120.0
WINDOW_SIZE = (1280, 800)


class TourFailed(Exception):
    """Something did not happen, or not as it should have."""


class Tour:
    """What the steps work with: the program, the camera, and waiting."""

    def __init__(self, program: Program, camera: Camera) -> None:
        self.program, self.camera = program, camera
        self.window = program.window
        self.errors: list[BaseException] = []

    def wait(self, what: str, condition: Callable[[], bool]) -> None:
        """Raises TourFailed when `condition` does not come true, or something broke meanwhile."""
        came_true = wait_until(lambda: bool(self.errors) or condition(), PATIENCE_SECONDS)
        if self.errors:
            raise TourFailed(f"While waiting until {what}: {self.errors[0]!r}") from self.errors[0]
        if not came_true:
            raise TourFailed(f"Waited {PATIENCE_SECONDS:g} seconds in vain until {what}")

    def check(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            raise TourFailed(f"{what}: {found!r} instead of {expected!r}")


def run(folder: Path) -> int:
    """Takes the pictures into `folder`; the exit code."""
    home = tempfile.mkdtemp(prefix="lamella-tour-")
    os.environ["LAMELLA_HOME"] = home
    handler = logs.start()
    try:
        tour = _begin(folder)
        for step in STEPS:
            step(tour)
            print(f"{step.__name__.replace('_', ' ')}: done", flush=True)
        tour.window.close()
        print(f"{len(tour.camera.taken)} pictures are in {folder.absolute()}")
        return 0
    finally:
        logs.stop(handler)
        shutil.rmtree(home)


def _begin(folder: Path) -> Tour:
    camera = Camera(folder)
    application()
    tour = Tour(Program(), camera)
    crash.install(tour.errors.append)
    tour.program.tasks.failed.connect(tour.errors.append)
    tour.window.resize(*WINDOW_SIZE)
    tour.window.show()
    return tour
