"""The colours, once for light and once for dark. Everything drawn takes its colour from here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Palette:
    """Colours by what they are for, as `#rrggbb`.

    `text` and `muted` meet WCAG AA on every surface; `faint` is for marks that repeat what is said elsewhere.
    `plot` can be told apart with any of the common colour deficiencies, in this order.
    """

    dark: bool
    window: str
    surface: str
    raised: str
    sunken: str
    border: str
    border_strong: str
    grid_line: str
    text: str
    muted: str
    faint: str
    hover: str
    pressed: str
    accent: str
    accent_hover: str
    on_accent: str
    accent_soft: str
    success: str
    success_soft: str
    warning: str
    warning_soft: str
    danger: str
    danger_soft: str
    plot: tuple[str, ...]


LIGHT = Palette(
    dark=False,
    window="#f6f6f8",
    surface="#ffffff",
    raised="#ffffff",
    sunken="#eff0f3",
    border="#e3e4e9",
    border_strong="#c9ccd5",
    grid_line="#ededf1",
    text="#1b1d23",
    muted="#5b606d",
    faint="#7d8290",
    hover="#ecedf1",
    pressed="#e1e3e9",
    accent="#4a56d0",
    accent_hover="#3d48bb",
    on_accent="#ffffff",
    accent_soft="#e7e9fb",
    success="#18794e",
    success_soft="#e3f4eb",
    warning="#8f5600",
    warning_soft="#fdf1dc",
    danger="#c22f35",
    danger_soft="#fdebeb",
    plot=("#0072b2", "#d55e00", "#009e73", "#b5609a", "#e69f00", "#3d9bd6", "#6b6f7b"),
)

DARK = Palette(
    dark=True,
    window="#16171b",
    surface="#1c1d22",
    raised="#25272d",
    sunken="#121316",
    border="#2b2d35",
    border_strong="#454853",
    grid_line="#272931",
    text="#e8e9ed",
    muted="#a6aab6",
    faint="#838896",
    hover="#282a31",
    pressed="#31343c",
    accent="#8f98fa",
    accent_hover="#a5acfb",
    on_accent="#14151c",
    accent_soft="#2d3054",
    success="#4cc38a",
    success_soft="#17322a",
    warning="#e9ad4f",
    warning_soft="#362b17",
    danger="#f4817d",
    danger_soft="#3b2124",
    plot=("#56b4e9", "#f0813c", "#2bc79a", "#e29bc4", "#f0b93a", "#8ea6ff", "#9a9eaa"),
)
