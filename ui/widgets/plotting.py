"""What plots of the benchmark and charts of data share: markers and patterns that distinguish lines and bars
besides their colours, and export as pictures."""

from __future__ import annotations

import re
from collections.abc import Callable

from PySide6.QtCore import QBuffer, QPoint, QRect, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QGuiApplication, QImage, QPaintEngine, QPainter, QPen, QRgba64
from PySide6.QtSvg import QSvgGenerator

from lamella.ui import theme

MARKERS = ("o", "s", "t", "d", "star", "p", "h", "t1")
"""pyqtgraph's markers: circle, square, triangle, diamond, star, pentagon, hexagon, upward triangle."""

HATCHES = (
    Qt.BrushStyle.SolidPattern,
    Qt.BrushStyle.BDiagPattern,
    Qt.BrushStyle.Dense4Pattern,
    Qt.BrushStyle.HorPattern,
    Qt.BrushStyle.DiagCrossPattern,
    Qt.BrushStyle.VerPattern,
)
"""The patterns of bars, which have no markers: they distinguish systems of the same colour."""

HATCH_SIDE = 8
"""The size of Qt's patterns in pixels."""

DOTS_PER_POINT = 2
"""The resolution of a PNG, so that it is sharp in print."""


def cosmetic_pen(color: QColor, width: float, style: Qt.PenStyle = Qt.PenStyle.SolidLine) -> QPen:
    """A pen whose width is in pixels of the screen, whatever the scale of the plot."""
    pen = QPen(color, width, style)
    pen.setCosmetic(True)
    return pen


def hatched(painter: QPainter, brush: QBrush) -> QBrush:
    """A brush whose hatch is as coarse where a point has several dots, as in pictures: Qt draws a line of a
    hatch one dot wide."""
    is_even = brush.style() in (Qt.BrushStyle.SolidPattern, Qt.BrushStyle.NoBrush)
    is_drawing = painter.paintEngine().type() is not QPaintEngine.Type.Raster
    if is_even or is_drawing or painter.deviceTransform().m11() <= 1:
        return brush
    tile = QImage(HATCH_SIDE, HATCH_SIDE, QImage.Format.Format_ARGB32_Premultiplied)
    tile.fill(Qt.GlobalColor.transparent)
    tiled = QPainter(tile)
    tiled.fillRect(tile.rect(), brush)
    tiled.end()
    return QBrush(tile)


class _PicturePainter(QPainter):
    """Widens cosmetic pens, whose widths Qt takes as dots of the picture. Items of a scene that are written
    in Python are passed this very object."""

    def setPen(self, pen: QPen | Qt.PenStyle | QColor | str | QRgba64 | Qt.GlobalColor | int, /) -> None:
        if isinstance(pen, QPen) and pen.isCosmetic():
            pen = QPen(pen)
            pen.setWidthF(DOTS_PER_POINT * max(pen.widthF(), 1.0))
        super().setPen(pen)


def pixels_of(size: QSize, paint: Callable[[QPainter], object]) -> QImage:
    """A drawing as an image."""
    image = QImage(size * DOTS_PER_POINT, QImage.Format.Format_RGB32)
    image.setDevicePixelRatio(DOTS_PER_POINT)
    image.fill(theme.current().color("surface"))
    painter = _PicturePainter(image)
    try:
        paint(painter)
    finally:
        painter.end()
    return image


def svg_of(title: str, size: QSize, paint: Callable[[QPainter], object]) -> str:
    """A drawing as SVG, whose texts stay text."""
    whole = QRect(QPoint(0, 0), size)
    buffer, drawing = QBuffer(), QSvgGenerator()
    drawing.setOutputDevice(buffer)
    drawing.setResolution(round(QGuiApplication.primaryScreen().logicalDotsPerInchX()))
    drawing.setSize(size)
    drawing.setViewBox(whole)
    drawing.setTitle(title)
    painter = QPainter(drawing)
    try:
        painter.fillRect(whole, theme.current().color("surface"))
        paint(painter)
    finally:
        painter.end()
    return _in_pixels(_without_repetition(bytes(buffer.data().data()).decode("utf-8")))


_EMPTY_GROUP = re.compile(r"<g [^>]*>\s*</g>\s*")
_INHERITED = re.compile(
    r'\s(?:fill-opacity="1"|stroke-opacity="1"|stroke-linecap="square"|stroke-linejoin="bevel"|font-style="normal"'
    r'|vector-effect="none"|transform="matrix\(1,0,0,1,0,0\)"|font-family="[^"]*")'
)
_FONT_OF_GROUP = re.compile(r'(<g [^>]*?)\sfont-size="[^"]*" font-weight="[^"]*"\s*(?=>)')


def _without_repetition(drawing: str) -> str:
    """The drawing without repeated attributes: Qt writes all of them for each group, though most are
    inherited. That makes it a fifth as long."""
    head, start, body = drawing.partition("<g ")
    family = re.search(r'font-family="[^"]*"', body)
    outermost, end, tail = body.partition(">")
    small = _FONT_OF_GROUP.sub(r"\1", _INHERITED.sub("", _EMPTY_GROUP.sub("", tail)))
    shared = f' {family.group()[:-1]},sans-serif"' if family else ""  # where none of the fonts is installed
    lines = "\n".join(filter(None, map(str.strip, small.splitlines())))
    return f"{head}{start}{outermost}{shared}{end}\n{lines}\n"


_SCALED_GROUP = re.compile(r'<g ([^>]*?)\s*transform="matrix\(([^)]*)\)"([^>]*)>\n(.*?)</g>', re.DOTALL)
_FIXED_WIDTH = ' vector-effect="non-scaling-stroke"'
_SHAPE = re.compile(r"<(path|polyline|polygon|rect|ellipse|circle)\s([^>]*?)\s*/>")
_POINT = re.compile(r"(-?[\d.]+(?:e[-+]?\d+)?),(-?[\d.]+(?:e[-+]?\d+)?)")
_SIZE = re.compile(r'(?<![-\w])(x|y|width|height|cx|cy|rx|ry|r)="([^"]*)"\s*')
_QUARTER = 4 / 3 * (2**0.5 - 1)
"""How far the control points of a quarter of a circle are from its ends, in radii."""


def _in_pixels(drawing: str) -> str:
    """The drawing with outlines and hatches in its own coordinates, where Qt writes those of the plot and a
    transform. Many programs ignore `vector-effect` and scale the width of lines with the transform, such as
    librsvg and LibreOffice, and all scale hatches."""

    def rewritten(group: re.Match[str]) -> str:
        before, numbers, after, content = group.groups()
        style = before + after
        is_hatched = 'fill="url(#fillpattern' in style and 'stroke="none"' in style
        if _FIXED_WIDTH not in content and not is_hatched:
            return group[0]
        matrix = [float(number) for number in numbers.split(",")]
        shapes = _SHAPE.sub(lambda shape: _transform_shape(shape[1], shape[2], matrix), content)
        others = re.sub(r"<(text|image)\s", rf'<\1 transform="matrix({numbers})" ', shapes)
        return f"<g {style}>\n{others}</g>"

    return _SCALED_GROUP.sub(rewritten, drawing).replace(_FIXED_WIDTH, "")


def _transform_shape(kind: str, attributes: str, matrix: list[float]) -> str:
    """A shape with a transform applied to its coordinates."""
    a, b, c, d, e, f = matrix

    def transform_point(point: re.Match[str]) -> str:
        x, y = float(point[1]), float(point[2])
        return f"{a * x + c * y + e:.6g},{b * x + d * y + f:.6g}"

    if kind in ("path", "polyline", "polygon"):
        return f"<{kind} {_POINT.sub(transform_point, attributes)}/>"
    size = {name: float(value) for name, value in _SIZE.findall(attributes)}
    outline = _rectangle(size) if kind == "rect" else _ellipse(size)
    style = _SIZE.sub("", attributes)
    return f'<path {style}{" " if style else ""}d="{_POINT.sub(transform_point, outline)}"/>'


def _rectangle(size: dict[str, float]) -> str:
    left, top, right, bottom = size["x"], size["y"], size["x"] + size["width"], size["y"] + size["height"]
    return f"M{left},{top} L{right},{top} L{right},{bottom} L{left},{bottom} Z"


def _ellipse(size: dict[str, float]) -> str:
    x, y = size["cx"], size["cy"]
    across, down = size.get("rx", size.get("r", 0.0)), size.get("ry", size.get("r", 0.0))
    arcs = "".join(
        f" C{x + across * (c - s * _QUARTER)},{y + down * (s + c * _QUARTER)}"
        f" {x + across * (-s + c * _QUARTER)},{y + down * (c + s * _QUARTER)} {x - across * s},{y + down * c}"
        for c, s in ((1, 0), (0, 1), (-1, 0), (0, -1))
    )
    return f"M{x + across},{y}{arcs} Z"
