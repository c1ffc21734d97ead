"""The main job, end to end, in the real window: import, filter, edit, undo, benchmark."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pictures import SHOWN
from PySide6.QtGui import QImage

from lamella.app import cli
from lamella.app.tour import STEPS, wait_until
from tests.screens.gallery import main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_the_tour_gets_through_and_takes_every_picture_in_light_and_dark(tmp_path):
    command = [sys.executable, "-m", "lamella.app", "--tour", str(tmp_path / "pictures")]
    result = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=dict(os.environ)
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count(": done") == len(STEPS)
    assert "propagateSizeHints" not in result.stderr
    pictures = sorted((tmp_path / "pictures").iterdir())
    names = {picture.stem.rpartition("-")[0] for picture in pictures}
    assert len(names) >= len(STEPS)
    assert set(SHOWN) <= {name.partition("-")[2] for name in names}
    assert {picture.name for picture in pictures} == {
        f"{n}-{m}.png" for n in names for m in ("light", "dark")
    }
    for name in names:
        light, dark = (
            QImage(str(tmp_path / "pictures" / f"{name}-{mode}.png")) for mode in ("light", "dark")
        )
        assert light.size() == dark.size() and light.pixel(2, 2) != dark.pixel(2, 2)


@pytest.mark.slow
def test_screens_at_200_percent_have_the_table_with_twice_the_pixels(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.screens", str(tmp_path)]
    environment = {**os.environ, "QT_SCALE_FACTOR": "2"}
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stdout + result.stderr
    sizes = {picture.stem: QImage(str(picture)).size().toTuple() for picture in tmp_path.glob("*.png")}
    assert sizes == {f"table-200%-{mode}": (2560, 1600) for mode in ("light", "dark")}


@pytest.mark.parametrize("take", [lambda path: cli.main(["--tour", path]), lambda path: main([path])])
def test_pictures_that_cannot_be_written_are_refused_at_once(tmp_path, take, capsys, monkeypatch):
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")  # the tour changes it, for a screen of a fixed size
    (tmp_path / "file").write_text("")
    assert take(str(tmp_path / "file")) == 2
    assert str(tmp_path / "file") in capsys.readouterr().err


@pytest.mark.parametrize("comes_true", [True, False])
def test_waiting_ends_with_what_became_of_it(qapp, comes_true):
    requests = []

    def condition() -> bool:
        requests.append(True)
        return comes_true and len(requests) > 2

    assert wait_until(condition, 0.2) is comes_true


WITH_A_CHART = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QApplication
from lamella.app import tour
from lamella.ui.charts.canvas import ChartCanvas

begun = tour.begin(tour.Camera(Path(sys.argv[1])))
canvas = ChartCanvas(begun.window.centralWidget())
canvas.resize(600, 400)
canvas.show()
plots = [canvas.addPlot(row=number, col=0) for number in range(3)]
QApplication.processEvents()
for plot in plots:
    plot.setTitle("carrier")
begun.end()
"""


def test_ending_while_plots_wait_for_their_layout_does_not_crash(tmp_path):
    words = [sys.executable, "-X", "faulthandler", "-c", WITH_A_CHART, str(tmp_path)]
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


HOVERED = """
import sys
from pathlib import Path
from PySide6.QtWidgets import QAbstractButton, QApplication
from lamella.app import tour

begun = tour.begin(tour.Camera(Path(sys.argv[1])))
QApplication.processEvents()
print([button.toolTip() for button in begun.window.findChildren(QAbstractButton) if button.underMouse()])
begun.end()
"""


def test_no_button_is_hovered_in_pictures(tmp_path):
    words = [sys.executable, "-c", HOVERED, str(tmp_path)]
    assert subprocess.run(words, capture_output=True, text=True, check=True).stdout == "[]\n"
