"""How everything looks: spacing, type, colours and icons, light and dark.

Widgets take what they need from `theme.current()` and redraw on its `changed` signal. Plain widgets need
nothing: the style sheet covers them. `variant(widget, "…")` chooses one of the looks listed in
`ui.style.sheet`.
"""

from __future__ import annotations

import gc
import math
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path

import shiboken6
from PySide6.QtCore import QObject, QSize, Qt, QTemporaryDir, Signal
from PySide6.QtGui import (
    QColor,
    QFont,
    QFontDatabase,
    QFontMetrics,
    QFontMetricsF,
    QGuiApplication,
    QIcon,
    QPalette,
)
from PySide6.QtWidgets import QApplication, QWidget

from lamella.ui.override_errors import complete_exceptions
from lamella.ui.style.icons import tinted_icon, write_tinted
from lamella.ui.style.sheet import DARK, ICONS_USED, LIGHT, Palette, style_sheet

complete_exceptions()  # before the classes of the window, whose modules import this one

SPACE = 4  # every gap is a multiple of it
XS, S, M, L, XL = SPACE, 2 * SPACE, 3 * SPACE, 4 * SPACE, 6 * SPACE
RADIUS = 6
ICON_SIDE = 16
GROWING = (8, 12, 14, 16, 24)  # pixels of the style sheet that grow with the text
TEXT_SCALES = (0.8, 0.9, 1.0, 1.15, 1.3, 1.5, 1.75, 2.0)
FALLBACK_FAMILIES = ["Inter", "Segoe UI", "Cantarell", "Ubuntu", "Noto Sans", "DejaVu Sans"]


class Mode(StrEnum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


class TextSize(StrEnum):
    """Steps of the type scale, relative to the system's text size."""

    CAPTION = "caption"
    BODY = "body"
    TITLE = "title"
    DISPLAY = "display"


STEPS = {TextSize.CAPTION: 0.9, TextSize.BODY: 1.0, TextSize.TITLE: 1.2, TextSize.DISPLAY: 1.6}


class Theme(QObject):
    """The look of one application. `changed` is emitted once palette, fonts and style sheet are in place."""

    changed = Signal()

    def __init__(self, app: QApplication, mode: Mode = Mode.SYSTEM, text_scale: float = 1.0) -> None:
        super().__init__(app)
        self._app = app
        self._mode, self._text_scale = Mode(mode), text_scale
        self._system_font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
        self._icons: dict[tuple[str, str, bool], QIcon] = {}
        self._fonts: dict[tuple[str, bool], QFont] = {}
        self._line_heights: dict[str, int] = {}
        self.is_changing = False
        """True while widgets get font, palette and sheet one after the other; layout can wait until it is
        False."""
        self._folder = QTemporaryDir()
        self._app.setStyle("Fusion")
        QGuiApplication.styleHints().colorSchemeChanged.connect(self._follow_system)
        self._apply()

    @property
    def colors(self) -> Palette:
        return DARK if self.dark else LIGHT

    @property
    def dark(self) -> bool:
        return self._dark

    @property
    def mode(self) -> Mode:
        return self._mode

    @property
    def text_scale(self) -> float:
        return self._text_scale

    def set_mode(self, mode: Mode | str) -> None:
        if self._mode is not Mode(mode):
            self._mode = Mode(mode)
            self._apply()

    def set_text_scale(self, scale: float) -> None:
        scale = min(max(scale, TEXT_SCALES[0]), TEXT_SCALES[-1])
        if self._text_scale != scale:
            self._text_scale = scale
            self._apply()

    def color(self, name: str) -> QColor:
        """A colour of the palette by its name there."""
        return QColor(getattr(self.colors, name))

    def font(self, size: TextSize | str = TextSize.BODY, bold: bool = False) -> QFont:
        if (size, bold) not in self._fonts:
            font = self._fonts[size, bold] = QFont(self._system_font)
            font.setFamilies([self._system_font.family(), *FALLBACK_FAMILIES])
            font.setPointSizeF(self._base_points() * STEPS[TextSize(size)])
            font.setWeight(QFont.Weight.DemiBold if bold else QFont.Weight.Normal)
        return QFont(self._fonts[size, bold])

    def tabular_font(self, size: TextSize | str = TextSize.BODY, bold: bool = False) -> QFont:
        """A font whose digits all have the same width, so that numbers line up in columns."""
        font = self.font(size, bold)
        font.setFeature(QFont.Tag("tnum"), 1)
        return font

    def mono_font(self, size: TextSize | str = TextSize.BODY) -> QFont:
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setPointSizeF(self._base_points() * STEPS[TextSize(size)])
        return font

    def line_height(self, size: TextSize | str = TextSize.BODY) -> int:
        if size not in self._line_heights:
            self._line_heights[size] = QFontMetrics(self.font(size)).height()
        return self._line_heights[size]

    def px(self, pixels: int) -> int:
        """A length given at the normal text size, scaled with the text."""
        return round(pixels * self._text_scale)

    def icon_size(self, side: int = ICON_SIDE) -> QSize:
        return QSize(self.px(side), self.px(side))

    def icon(self, name: str, color: str = "muted") -> QIcon:
        """An icon of resources/icons in a palette colour; ask again after `changed`."""
        key = (name, color, self.dark)
        if key not in self._icons:
            c = self.colors
            self._icons[key] = tinted_icon(name, getattr(c, color), c.border_strong, c.accent)
        return self._icons[key]

    def _base_points(self) -> float:
        points = self._system_font.pointSizeF()
        return max(points if points > 0 else 10.0, 9.0) * self._text_scale

    def _follow_system(self) -> None:
        if self._mode is Mode.SYSTEM:
            self._apply()

    def _apply(self) -> None:
        """Apply palette, font and style sheet. The old sheet is removed first: replacing a sheet restyles
        every widget, setting one where there is none only those that were shown, which takes a third of the
        time."""
        self.is_changing = True
        self._dark = self._mode is Mode.DARK or (self._mode is Mode.SYSTEM and _system_is_dark())
        self._fonts.clear()
        self._line_heights.clear()
        try:
            with _no_collection():
                self._app.setStyleSheet("")
                self._app.setFont(self.font())
                self._app.setPalette(_qt_palette(self.colors))
                self._app.setStyleSheet(style_sheet(self.colors, self._sizes(), self._pictures()))
        finally:
            self.is_changing = False
        self.changed.emit()

    def _sizes(self) -> dict[str, str]:
        base = self._base_points()
        points = {f"{step}_pt": f"{base * factor:.1f}pt" for step, factor in STEPS.items()}
        pixels = {f"px{pixels}": f"{self.px(pixels)}px" for pixels in GROWING}
        side = (
            self.px(14) + 2
        )  # of a radio button with its border; a radius of more than half would draw a square
        ring = round(side * 5 / 16)
        radio = {"radio": side // 2, "radio_ring": ring, "radio_dot": side - 2 * ring}
        # style sheets turn a minimum into that of the widget, so that layouts ignore its larger size hint
        line = math.ceil(QFontMetricsF(self.font()).height())
        least = {"button_line": max(16, line), "field_line": max(18, line + 2)}
        lines = {name: f"{height}px" for name, height in least.items()}
        return points | pixels | lines | {name: f"{length}px" for name, length in radio.items()}

    def _pictures(self) -> dict[str, str]:
        folder = Path(self._folder.path())
        return {
            f"{name}_{tint}".replace("-", "_"): write_tinted(name, getattr(self.colors, tint), folder)
            for name, tint in ICONS_USED
        }


def _system_is_dark() -> bool:
    return QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector off. Qt walks a list of all widgets and crashes if one of them is collected
    meanwhile, which any allocation can cause: in slots of the change, or in other threads."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


_themes: list[Theme] = []
"""One theme at most. Searching the application's children for it takes longer than using it."""


def install(app: QApplication, mode: Mode | str = Mode.SYSTEM, text_scale: float = 1.0) -> Theme:
    """Give the application its look; `current()` returns it from then on."""
    _themes[:] = [Theme(app, Mode(mode), text_scale)]
    return _themes[0]


def current() -> Theme:
    """The look of the running application; one with the defaults if none was installed."""
    if _themes and shiboken6.isValid(_themes[0]):
        return _themes[0]
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        raise RuntimeError("A theme needs a QApplication")
    return install(app)


def variant(widget: QWidget, name: str) -> None:
    """Choose a named look of the style sheet for one widget, before or after it is shown."""
    widget.setProperty("variant", name)
    if widget.testAttribute(Qt.WidgetAttribute.WA_WState_Polished):  # others: when they are first shown
        widget.style().unpolish(widget)
        widget.style().polish(widget)


def _qt_palette(c: Palette) -> QPalette:
    roles = QPalette.ColorRole
    palette = QPalette()
    for role, color in (
        (roles.Window, c.window),
        (roles.WindowText, c.text),
        (roles.Base, c.surface),
        (roles.AlternateBase, c.sunken),
        (roles.Text, c.text),
        (roles.Button, c.surface),
        (roles.ButtonText, c.text),
        (roles.BrightText, c.danger),
        (roles.Highlight, c.accent),
        (roles.HighlightedText, c.on_accent),
        (roles.Accent, c.accent),
        (roles.Link, c.accent),
        (roles.LinkVisited, c.accent),
        (roles.ToolTipBase, c.raised),
        (roles.ToolTipText, c.text),
        (roles.PlaceholderText, c.faint),
        (roles.Light, c.raised),
        (roles.Midlight, c.hover),
        (roles.Mid, c.border),
        (roles.Dark, c.border_strong),
        (roles.Shadow, c.border_strong),
    ):
        palette.setColor(role, QColor(color))
    for role in (roles.WindowText, roles.Text, roles.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(c.faint))
    return palette
