#!/usr/bin/env python3
"""Copies pictures of the tour and of single screens into the documentation, with fewer colours:
`packaging/pictures.py FOLDER`, after `lamella --tour FOLDER`. `python3 dev.py shots` does both.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PySide6.QtGui import QImage

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs" / "pictures"
SHOWN = ("file", "chart", "filter", "import", "set-values", "changed", "benchmark")
"""The screens that pages show, by their names in the tour."""
SCREENS = ("connections", "browser", "spark-steps")
"""Further ones, which need servers, by their names in `tests.screens`."""
COLORS = 256


def put_into_docs(tour: Path, screens: Path, target: Path = TARGET) -> list[Path]:
    """Copy the pictures in the light theme, replacing the existing ones."""
    target.mkdir(exist_ok=True)
    for path in target.glob("*.png"):
        path.unlink()
    made = []
    for name in (*SHOWN, *SCREENS):
        pattern = f"{name}-1280-light.png" if name in SCREENS else f"[0-9][0-9]-{name}-light.png"
        (source,) = (screens if name in SCREENS else tour).glob(pattern)
        made.append(target / f"{name}.png")
        if not with_fewer_colors(QImage(str(source))).save(str(made[-1]), "PNG", 0):  # 0: the smallest
            raise OSError(f"{made[-1]} cannot be written")
    return made


def with_fewer_colors(image: QImage) -> QImage:
    """The picture with at most 256 colours, which makes its file a third as large. Colours are chosen one by
    one where the error is greatest, and each pixel gets the nearest one."""
    width, height = image.width(), image.height()
    pixels = np.frombuffer(image.convertToFormat(QImage.Format.Format_RGB32).constBits(), np.uint32)
    colors, places, counts = np.unique(pixels, return_inverse=True, return_counts=True)
    channels = colors.view(np.uint8).reshape(-1, 4).astype(np.int64)
    kept: list[int] = []
    nearest, distance = np.zeros(len(colors), np.uint8), np.full(len(colors), np.iinfo(np.int64).max >> 32)
    while len(kept) < COLORS and distance.any():
        kept.append(int((distance * counts).argmax()))
        to_it = ((channels - channels[kept[-1]]) ** 2).sum(1)
        nearer = to_it < distance
        nearest[nearer], distance[nearer] = len(kept) - 1, to_it[nearer]
    indexes = nearest[places].tobytes()
    made = QImage(indexes, width, height, width, QImage.Format.Format_Indexed8)
    made.setColorTable(colors[kept].tolist())
    return made.copy()  # Python owns the bytes


def take_screens(folder: Path) -> None:
    """Take the pictures of `SCREENS`. Raises `CalledProcessError`."""
    subprocess.run([sys.executable, "-m", "tests.screens", str(folder), *SCREENS], cwd=ROOT, check=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        take_screens(Path(folder))
        for picture in put_into_docs(Path(sys.argv[1]), Path(folder)):
            print(f"{picture}: {picture.stat().st_size / 1000:.0f} kB")
