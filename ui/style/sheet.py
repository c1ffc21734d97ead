"""The style sheet and its palettes: `$name` stands for a colour, a text size or a tinted icon."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from string import Template


@dataclass(frozen=True)
class Palette:
    """Colours by their purpose, as `#rrggbb`.

    `text` and `muted` meet WCAG AA on every surface, `faint` on `window` and `surface`. `input_border` marks
    input fields (contrast 3 : 1); lines that only separate things may be fainter. The colours of `plot`, in
    this order, can be distinguished with any of the common colour deficiencies. `ahead` and `behind` are the
    backgrounds of a ratio in three strengths, with the text on them. `card` is for all rows on a column's
    card, and `card_met` for those that meet the filter.
    """

    dark: bool
    window: str
    surface: str
    raised: str
    sunken: str
    border: str
    border_strong: str
    input_border: str
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
    card: str
    card_met: str
    cell_bar: str
    plot: tuple[str, ...]
    ahead: tuple[str, str, str]
    on_ahead: str
    behind: tuple[str, str, str]
    on_behind: str


LIGHT = Palette(
    dark=False,
    window="#f6f6f8",
    surface="#ffffff",
    raised="#ffffff",
    sunken="#eff0f3",
    border="#e3e4e9",
    border_strong="#c9ccd5",
    input_border="#878c9b",
    grid_line="#ededf1",
    text="#1b1d23",
    muted="#5b606d",
    faint="#6a6f7d",
    hover="#ecedf1",
    pressed="#e1e3e9",
    accent="#4a56d0",
    accent_hover="#3d48bb",
    on_accent="#ffffff",
    accent_soft="#e7e9fb",
    success="#17754b",
    success_soft="#e3f4eb",
    warning="#8f5600",
    warning_soft="#fdf1dc",
    danger="#c22f35",
    danger_soft="#fdebeb",
    card="#ccd0da",
    card_met="#5a66da",
    cell_bar="#dfe2fa",
    plot=("#0072b2", "#d55e00", "#009e73", "#b5609a", "#e69f00", "#3d9bd6", "#6b6f7b"),
    ahead=("#e9f6ef", "#cfebdb", "#addfc3"),
    on_ahead="#0f5c3a",
    behind=("#fdf1dc", "#f9dfb4", "#f3cb88"),
    on_behind="#6e4100",
)

DARK = Palette(
    dark=True,
    window="#16171b",
    surface="#1c1d22",
    raised="#25272d",
    sunken="#121316",
    border="#2b2d35",
    border_strong="#454853",
    input_border="#737886",
    grid_line="#25272e",
    text="#e8e9ed",
    muted="#a6aab6",
    faint="#9095a3",
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
    card="#454955",
    card_met="#8f98fa",
    cell_bar="#343865",
    plot=("#56b4e9", "#f0813c", "#2bc79a", "#e29bc4", "#f0b93a", "#8ea6ff", "#9a9eaa"),
    ahead=("#182c26", "#1b3f30", "#1f563e"),
    on_ahead="#8ee0b4",
    behind=("#30281a", "#47361a", "#5e4718"),
    on_behind="#f3c681",
)


ICONS_USED = (
    ("check", "on_accent"),
    ("minus", "on_accent"),
    ("chevron-down", "muted"),
    ("chevron-up", "muted"),
    ("chevron-right", "muted"),
    ("chevron-left", "text"),
    ("chevron-left", "border_strong"),
    ("chevron-right", "text"),
    ("chevron-right", "border_strong"),
    ("close", "muted"),
    ("close", "text"),
)


def style_sheet(palette: Palette, sizes: dict[str, str], pictures: dict[str, str]) -> str:
    colors = {name: value for name, value in asdict(palette).items() if isinstance(value, str)}
    return Template(SHEET).substitute(colors, **sizes, **pictures)


SHEET = """
* { outline: none; }
QWidget { color: $text; font-size: $body_pt; }
QMainWindow, QDialog, QMessageBox { background: $window; }
QToolTip { background: $raised; color: $text; border: 1px solid $border_strong; padding: 4px 8px; }

QToolBar, QTabBar, QTreeView, QListView, QPushButton, QMenu { icon-size: $px16; }
QLabel { background: transparent; }
QLabel[variant="display"] { font-size: $display_pt; font-weight: 600; }
QLabel[variant="verdict"] { font-size: $body_pt; font-weight: 600; }
QLabel[variant="title"] { font-size: $title_pt; font-weight: 600; }
QLabel[variant="heading"] { font-size: $caption_pt; font-weight: 600; color: $muted; }
QLabel[variant="muted"] { color: $muted; }
QLabel[variant="caption"] { color: $muted; font-size: $caption_pt; }
QLabel[variant="blank"] { color: $muted; background: $surface; }
QLabel[variant="danger"] { color: $danger; }
QLabel[variant="success"] { color: $success; }
QLabel[variant="key"] {
    color: $muted; background: $sunken; border: 1px solid $border; border-radius: 4px;
    padding: 1px 6px; font-size: $caption_pt;
}

QPushButton {
    background: $surface; border: 1px solid $border_strong; border-radius: 6px;
    padding: 5px 12px; min-height: $button_line;
}
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $pressed; }
QPushButton:focus { border-color: $accent; }
QPushButton:disabled { color: $faint; background: $window; border-color: $border; }
QPushButton[variant="primary"] {
    background: $accent; border-color: $accent; color: $on_accent; font-weight: 600;
}
QPushButton[variant="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[variant="primary"]:focus { border-color: $text; }
QPushButton[variant="primary"]:disabled { background: $pressed; border-color: $pressed; color: $muted; }
QDialogButtonBox { button-layout: 3; dialogbuttonbox-buttons-have-icons: 0; }
QDialogButtonBox QPushButton:default {
    background: $accent; border-color: $accent; color: $on_accent; font-weight: 600;
}
QDialogButtonBox QPushButton:default:hover { background: $accent_hover; border-color: $accent_hover; }
QDialogButtonBox QPushButton:default:focus { border-color: $text; }
QPushButton[variant="search"] {
  background: $surface; border: 1px solid $input_border; color: $muted; text-align: left; padding: 4px 8px;
}
QPushButton[variant="search"]:hover { border-color: $muted; }
QPushButton[variant="search"]:focus { border-color: $accent; }
QPushButton[variant="row"] { background: transparent; border: 1px solid transparent; text-align: left; }
QPushButton[variant="row"]:hover { background: $hover; }
QPushButton[variant="row"]:pressed { background: $pressed; }
QPushButton[variant="row"]:focus { border-color: $accent; }
QPushButton[variant="ghost"] { background: transparent; border-color: transparent; color: $text; }
QPushButton[variant="ghost"]:hover { background: $hover; }
QPushButton[variant="ghost"]:pressed { background: $pressed; }
QPushButton[variant="ghost"]:focus { border-color: $accent; }
QPushButton[variant="ghost"]:disabled, QPushButton[variant="row"]:disabled { color: $faint; }
QPushButton[variant="danger"] { color: $danger; }
QPushButton[variant="danger"]:hover { background: $danger_soft; border-color: $danger; }
QPushButton[variant="danger"]:disabled { color: $faint; }
QPushButton[variant="link"] { background: transparent; border: none; color: $accent; padding: 4px 0; }
QPushButton[variant="link"]:disabled { color: $muted; }
QPushButton[variant="link"]:hover { color: $accent_hover; text-decoration: underline; }
QPushButton[variant="link"]:focus { text-decoration: underline; }

QToolButton {
    background: transparent; border: 1px solid transparent; border-radius: 6px; padding: 4px 8px;
    color: $text;
}
QToolButton:hover { background: $hover; }
QToolButton:pressed { background: $pressed; }
QToolButton:checked { background: $accent_soft; color: $accent; }
QToolButton:focus { border-color: $accent; }
QToolButton:disabled { color: $faint; background: transparent; }
QToolButton::menu-indicator, QPushButton::menu-indicator { image: none; width: 0; }
QToolButton[variant="chip"] {
    background: $surface; border: 1px solid $border_strong; border-radius: 6px; padding: 4px 8px;
}
QToolButton[variant="chip"]:hover { background: $hover; }
QToolButton[variant="chip"]:focus { border-color: $accent; }
QToolButton[variant="tight"] { padding: 3px; }
QToolButton[variant="inside"] { border: none; padding: 0; }
QToolButton[variant="segment"] {
    background: $surface; border: 1px solid $border_strong; border-radius: 4px; padding: 4px 12px;
}
QToolButton[variant="segment"]:hover { background: $hover; }
QToolButton[variant="segment"]:checked { background: $accent_soft; color: $accent; border-color: $accent; }
QToolButton[variant="segment"]:focus { border-color: $accent; }
QToolButton[variant="segment"]:disabled { color: $faint; }
QToolButton[variant="primary"] { background: $accent; color: $on_accent; }
QToolButton[variant="fold"] { padding: 0; color: $muted; font-size: $caption_pt; font-weight: 600; }
QToolButton[variant="fold"]:hover, QToolButton[variant="fold"]:checked {
    background: transparent; color: $text;
}

QLineEdit, QPlainTextEdit, QTextEdit, QAbstractSpinBox, QComboBox {
    background: $surface; border: 1px solid $input_border; border-radius: 6px;
    padding: 4px 8px; min-height: $field_line;
    selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit:hover, QAbstractSpinBox:hover, QComboBox:hover { border-color: $muted; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QAbstractSpinBox:focus, QComboBox:focus,
QComboBox:on { border-color: $accent; }
QLineEdit:disabled, QAbstractSpinBox:disabled, QComboBox:disabled { background: $window; color: $faint; }
QLineEdit:read-only { background: $window; }
QLineEdit[variant="invalid"], QComboBox[variant="invalid"] { border-color: $danger; }
QLineEdit[variant="flat"] { border-color: transparent; background: transparent; }
QLineEdit[variant="filter"], QLineEdit[variant="filter-invalid"] {
    border-radius: 4px; padding: 0 5px; min-height: 0;
}
QLineEdit[variant="filter-invalid"] { border-color: $danger; }
QLineEdit[variant="cell"] { border: 2px solid $accent; border-radius: 0; padding: 0 4px; min-height: 0; }
QLineEdit[variant="cell-invalid"] {
    border: 2px solid $danger; border-radius: 0; padding: 0 4px; min-height: 0;
}
QPlainTextEdit[variant="cell-area"] { border: 2px solid $accent; border-radius: 0; padding: 2px; }
QPlainTextEdit[variant="code"] {
    border: none; border-radius: 0; padding: 0;
    selection-background-color: $accent_soft; selection-color: $text;
}
QPlainTextEdit[variant="cell-area-invalid"] { border: 2px solid $danger; border-radius: 0; padding: 2px; }
QCheckBox[variant="cell"] { border: 2px solid $accent; background: $surface; padding: 0 4px; }
QCalendarWidget QWidget#qt_calendar_navigationbar { background: $raised; }
QCalendarWidget QToolButton { background: transparent; color: $text; font-weight: 600; }
QCalendarWidget QToolButton::menu-indicator { image: none; }
QCalendarWidget QAbstractItemView { background: $raised; color: $text; alternate-background-color: $raised; }
QCalendarWidget QAbstractItemView:disabled { color: $faint; }
QLabel[variant="reason"] {
    background: $danger_soft; color: $danger; border: 1px solid $danger; border-radius: 4px; padding: 2px 6px;
}
QComboBox { padding-left: 10px; padding-right: 4px; combobox-popup: 0; }
QComboBox:editable { padding-left: 8px; padding-right: 0; }
QComboBox::drop-down { border: none; width: $px24; }
QComboBox::down-arrow { image: url($chevron_down_muted); width: $px14; height: $px14; }
QComboBoxPrivateContainer { border: none; background: transparent; }
QComboBox QAbstractItemView {
    background: $raised; border: 1px solid $border_strong; padding: 4px;
    selection-background-color: $accent_soft; selection-color: $text;
}
QListView[variant="completions"] {
    background: $raised; border: 1px solid $border_strong; padding: 2px;
}
QAbstractSpinBox { padding: 3px 20px 2px 8px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {
    border: none; width: 20px; background: transparent;
}
QAbstractSpinBox::up-arrow { image: url($chevron_up_muted); width: $px12; height: $px12; }
QAbstractSpinBox::down-arrow { image: url($chevron_down_muted); width: $px12; height: $px12; }

QCheckBox, QRadioButton { spacing: 8px; background: transparent; }
QCheckBox::indicator, QRadioButton::indicator, QAbstractItemView::indicator {
    width: $px14; height: $px14; border: 1px solid $input_border; background: $surface;
}
QCheckBox::indicator, QAbstractItemView::indicator { border-radius: 4px; }
QRadioButton::indicator { border-radius: $radio; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox:focus, QRadioButton:focus { color: $accent; }
QCheckBox:focus::indicator, QRadioButton:focus::indicator { border-color: $accent; }
QCheckBox::indicator:checked, QAbstractItemView::indicator:checked {
    background: $accent; border-color: $accent; image: url($check_on_accent);
}
QCheckBox::indicator:indeterminate {
    background: $accent; border-color: $accent; image: url($minus_on_accent);
}
QRadioButton::indicator:checked {
    border: $radio_ring solid $accent; width: $radio_dot; height: $radio_dot; background: $on_accent;
}
QCheckBox:disabled, QRadioButton:disabled { color: $faint; }

QMenuBar { background: $window; padding: 2px 8px; }
QMenuBar::item { background: transparent; padding: 4px 8px; border-radius: 4px; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $raised; border: 1px solid $border_strong; padding: 4px; }
QMenu::item { padding: 5px 28px 5px 12px; border-radius: 4px; min-height: $px16; }
QMenu::item:selected { background: $accent_soft; color: $text; }
QMenu::item:disabled { color: $faint; }
QMenu::icon { padding-left: 8px; }
QMenu::right-arrow { image: url($chevron_right_muted); width: $px12; height: $px12; margin-right: 8px; }
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }

QToolBar {
    background: $window; border: none; border-bottom: 1px solid $border; padding: 4px 8px; spacing: 2px;
}
QToolBarExtension {
    background: $surface; border: 1px solid $border_strong; padding: 0; min-width: 20px;
    image: url($chevron_right_text);
}
QToolBarExtension:hover { background: $hover; }
QToolBar::separator { width: 1px; background: $border; margin: 6px 8px; }
QStatusBar { background: $window; border-top: 1px solid $border; }
QStatusBar::item { border: none; }

QTabWidget::pane { border: none; }
QTabBar { background: $window; }
QTabBar::tab {
    background: transparent; color: $muted; padding: 7px 12px; border: none;
    border-bottom: 2px solid transparent; margin-right: 2px;
}
QTabBar::tab:hover { color: $text; background: $hover; }
QTabBar::tab:selected { color: $text; border-bottom: 2px solid $accent; }
QTabBar::tab:focus { color: $accent; }
QTabBar::close-button {
    image: url($close_muted); subcontrol-position: right;
    width: $px16; height: $px16; margin: 2px; padding: 1px;
}
QTabBar::close-button:hover { background: $pressed; border-radius: 4px; image: url($close_text); }

QTabBar::scroller { width: 56px; }
QTabBar QToolButton {
    background: $surface; border: 1px solid $border_strong; border-radius: 4px; padding: 0; margin: 4px 1px;
}
QTabBar QToolButton:hover { background: $hover; }
QTabBar QToolButton:disabled { background: $window; border-color: $border; }
QTabBar QToolButton::left-arrow { image: url($chevron_left_text); }
QTabBar QToolButton::right-arrow { image: url($chevron_right_text); }
QTabBar QToolButton::left-arrow:disabled { image: url($chevron_left_border_strong); }
QTabBar QToolButton::right-arrow:disabled { image: url($chevron_right_border_strong); }

QTreeView, QListView, QTableView, QAbstractScrollArea { background: $surface; border: none; }
QPlainTextEdit, QTextEdit { border: 1px solid $input_border; }
QPlainTextEdit:focus, QTextEdit:focus { border-color: $accent; }
QTextBrowser { border: none; border-radius: 0; padding: 0; }
QTreeView, QListView { selection-background-color: $accent_soft; selection-color: $text; }
QTreeView { show-decoration-selected: 0; }
QTreeView::item, QListView::item { padding: 4px 6px; }
QListView::item { border-radius: 4px; }
QTreeView::item:hover, QListView::item:hover { background: $hover; }
QTreeView::item:selected, QListView::item:selected { background: $accent_soft; color: $text; }
QListView:disabled, QTreeView:disabled { color: $faint; }
QListView[variant="plain"] { background: transparent; border: none; }
QScrollArea, QListView#offers { background: transparent; }
QTreeView#sidebar { background: $window; padding: 8px 0; }
QTreeView[variant="panel"] { background: $window; }
QTreeView[variant="panel"]::item { padding: 4px 2px; }
QTreeView[variant="panel"] QHeaderView::section { border: none; padding: 4px 5px; }
QTreeView[variant="panel"] QHeaderView { font-size: $caption_pt; }
QFrame[variant="popup"] QListView, QFrame[variant="popup"] QTreeView { background: transparent; }
QTreeView::branch, QTreeView::branch:selected, QTreeView::branch:hover { background: transparent; }
QTreeView::branch:has-children:closed { image: url($chevron_right_muted); }
QTreeView::branch:has-children:open { image: url($chevron_down_muted); }
QTableView { gridline-color: $grid_line; selection-background-color: $accent_soft; selection-color: $text; }
QTableView[variant="grid"] { background: $window; }
QTableView::item { padding: 0 5px; }
QTableView[variant="roomy"]::item { padding: 3px 5px; }
QTableView[variant="matrix"]::item { padding: 0; }
QTableView[variant="matrix"] { background: $window; gridline-color: $window; }
QTableView[variant="matrix"] QHeaderView::section { border: none; }
QHeaderView { background: $window; border: none; }
QHeaderView::section {
    background: $window; color: $muted; border: none; border-right: 1px solid $border;
    border-bottom: 1px solid $border; padding: 4px 8px;
}
QHeaderView::up-arrow { image: url($chevron_up_muted); width: $px12; height: $px12; }
QHeaderView::down-arrow { image: url($chevron_down_muted); width: $px12; height: $px12; }
QHeaderView::up-arrow, QHeaderView::down-arrow {
    subcontrol-origin: padding; subcontrol-position: center right; margin-right: 6px;
}
QTableCornerButton::section {
    background: $window; border: none; border-right: 1px solid $border; border-bottom: 1px solid $border;
}

QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 12px; }
QScrollBar:horizontal { height: 12px; }
QScrollBar::handle { background: $border_strong; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar[variant="steady"]::handle:disabled { background: transparent; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; }

QSlider::groove:horizontal { background: $border_strong; height: 4px; border-radius: 2px; }
QSlider::sub-page:horizontal { background: $accent; border-radius: 2px; }
QSlider::handle:horizontal {
    background: $accent; border: 1px solid $accent; border-radius: 7px; width: 12px; margin: -5px 0;
}
QSlider::handle:horizontal:hover { background: $accent_hover; }
QSlider::handle:horizontal:focus { border-color: $text; }

QProgressBar { background: $sunken; border: none; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QSplitter::handle { background: $border; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QSplitter::handle:hover { background: $accent; }
QGroupBox {
    border: 1px solid $border; border-radius: 8px; margin-top: 12px; padding: 12px; font-weight: 600;
}
QGroupBox::title { subcontrol-origin: margin; left: 12px; padding: 0 4px; color: $muted; }

QFrame[variant="card"] { background: $surface; border: 1px solid $border; border-radius: 8px; }
QFrame[variant="drop"] { background: $surface; border: 1px dashed $input_border; border-radius: 8px; }
QFrame[variant="panel"] { background: $window; border: none; }
QFrame[variant="chip"] { background: $surface; border: 1px solid $border_strong; border-radius: 12px; }
QFrame[variant="chip"]:hover { border-color: $accent; }
QFrame[variant="bar"] { background: $window; border: none; border-bottom: 1px solid $border; }
QFrame[variant="message"], QFrame[variant="message-danger"], QFrame[variant="message-success"] {
    border: none; border-radius: 8px;
}
QFrame[variant="message"] { background: $accent_soft; }
QFrame[variant="message-danger"] { background: $danger_soft; }
QFrame[variant="message-success"] { background: $success_soft; }
QFrame[variant="message"][floating="true"] { border: 1px solid $accent; }
QFrame[variant="message-danger"][floating="true"] { border: 1px solid $danger; }
QFrame[variant="message-success"][floating="true"] { border: 1px solid $success; }
QFrame[variant="strip"] { background: $accent_soft; border: none; border-top: 1px solid $border; }
QFrame[variant="difference"] {
    background: $accent_soft; border: none; border-bottom: 1px solid $border;
}
QToolButton[count="true"] {
    border: 1px solid transparent; border-radius: 6px; padding: 3px 8px; background: transparent;
    color: $muted;
}
QToolButton[count="true"]:hover { background: $surface; }
QToolButton[variant="success"][count="true"]:checked { color: $success; }
QToolButton[variant="danger"][count="true"]:checked { color: $danger; }
QToolButton[variant="warning"][count="true"]:checked { color: $warning; }
QToolButton[count="true"]:focus { border-color: $accent; }
QToolButton[count="true"]:disabled { color: $muted; }
QFrame[variant="overlay"] { background: $raised; border: 1px solid $border_strong; border-radius: 10px; }
QFrame[variant="popup"] { background: $raised; border: 1px solid $border_strong; }
QFrame[variant="line"] { background: $border; border: none; max-height: 1px; min-height: 1px; }
"""
