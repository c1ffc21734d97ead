"""The preview of a change: its first rows, before and after, and its effect in words."""

from __future__ import annotations

import pyarrow as pa
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QResizeEvent
from PySide6.QtWidgets import (
    QAbstractItemView,
    QHeaderView,
    QLabel,
    QTableWidget,
    QTableWidgetItem,
    QWidget,
)

from lamella.core.arrow.types import ID, type_text
from lamella.core.errors import visible
from lamella.core.phrases import quantity
from lamella.core.store.acts import Act, CastColumn, Delete, DropDuplicates, Kind, Rename, Upsert
from lamella.core.store.effects import CONFLICT, DELETED, NEW, Effect, Preview
from lamella.ui import theme
from lamella.ui.grid.columns import icon_name, is_right_aligned
from lamella.ui.grid.texts import screen_texts
from lamella.ui.widgets.controls import EmptyNote

NULL = "NULL"
LONGEST_TEXT = 120
MOST_WIDTH = 260
WORDS = {CONFLICT: "conflict", NEW: "new", DELETED: "goes"}
SLOW_SECONDS = 1.0


class PreviewTable(QTableWidget):
    """The id of a row, columns that identify it, changed columns before and after, and the reason if a value
    is lost."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.verticalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.verticalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setAccessibleName("The first rows before and after")
        self._corner = QLabel(ID, self)
        self._corner.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self._corner.setContentsMargins(0, 0, theme.S, 0)
        theme.variant(self._corner, "muted")
        self._corner.hide()
        EmptyNote(self, "The first rows that change are shown here")
        self._shown_preview: Preview | None = None
        self._plain_after = False
        theme.current().changed.connect(self._redraw)
        self._redraw()

    def show_preview(self, preview: Preview, plain_after: bool = False) -> None:
        """`plain_after`: columns keep their names, so the headers need no addition."""
        self._shown_preview, self._plain_after = preview, plain_after
        self._redraw()

    def clear_rows(self) -> None:
        self._shown_preview = None
        self._corner.hide()
        self.setRowCount(0)
        self.setColumnCount(0)

    def _redraw(self) -> None:
        self.verticalHeader().setDefaultSectionSize(theme.current().line_height() + theme.S)
        preview = self._shown_preview
        if preview is None:
            return
        count = preview.context.num_rows
        self.clear()
        self.setRowCount(count)
        context = [name for name in preview.context.column_names if name != ID]
        before, after = preview.before.column_names, preview.after.column_names
        has_reasons = any(preview.reasons)
        self.setColumnCount(len(context) + len(before) + len(after) + has_reasons)
        ids = preview.context.column(ID).to_pylist()
        labels = [
            WORDS.get(kind, "") if row_id is None else f"{row_id:,}"
            for row_id, kind in zip(ids, preview.kinds, strict=True)
        ]
        self.setVerticalHeaderLabels(labels)
        place = 0
        for name in context:
            place = self._put(place, preview.context, name, name, "muted", preview)
        texts = {}
        for name in before:
            texts[name] = screen_texts(preview.before.column(name))
            place = self._put(place, preview.before, name, name, "text", preview)
        for name in after:
            label = name if self._plain_after else f"{name} after"
            place = self._put(place, preview.after, name, label, "accent", preview, texts.get(name))
        if has_reasons:
            self._put_reasons(place, preview)
        self._fit()

    def _put(
        self,
        place: int,
        rows: pa.Table,
        name: str,
        label: str,
        look: str,
        preview: Preview,
        before: list[str | None] | None = None,
    ) -> int:
        kind, colors = rows.schema.field(name).type, theme.current()
        icon = "arrow-right" if look == "accent" else icon_name(kind)
        header = QTableWidgetItem(colors.icon(icon, look if look == "accent" else "muted"), visible(label))
        header.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)  # beside its icon
        header.setToolTip(f"{visible(name)}: {type_text(kind)}")
        self.setHorizontalHeaderItem(place, header)
        for row, text in enumerate(screen_texts(rows.column(name))):
            same = look == "accent" and before is not None and before[row] == text
            item = QTableWidgetItem(NULL if text is None else text[:LONGEST_TEXT])
            what = preview.kinds[row]
            font = colors.font(bold=look == "accent" and not same)
            font.setItalic(text is None)
            font.setStrikeOut(what == DELETED)
            item.setFont(font)
            item.setForeground(self._color(look, what, text is None or same))
            if look == "accent":
                item.setBackground(colors.color("danger_soft" if what == CONFLICT else "accent_soft"))
            item.setTextAlignment(_side(kind))
            self.setItem(row, place, item)
        return place + 1

    def _color(self, look: str, kind: str, quiet: bool) -> QColor:
        colors = theme.current()
        if kind == CONFLICT and look != "muted":
            return colors.color("danger")
        return colors.color("muted" if quiet else look)

    def _put_reasons(self, place: int, preview: Preview) -> None:
        header = QTableWidgetItem("Why")
        header.setTextAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
        self.setHorizontalHeaderItem(place, header)
        for row, reason in enumerate(preview.reasons):
            item = QTableWidgetItem(reason)
            item.setForeground(theme.current().color("muted"))
            item.setToolTip(reason)
            self.setItem(row, place, item)

    def _fit(self) -> None:
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.resizeColumnsToContents()
        for place in range(self.columnCount()):
            self.setColumnWidth(place, min(self.columnWidth(place), theme.current().px(MOST_WIDTH)))
        has_reasons = self._shown_preview is not None and any(self._shown_preview.reasons)
        if has_reasons and header.length() <= self.viewport().width():
            header.setSectionResizeMode(self.columnCount() - 1, QHeaderView.ResizeMode.Stretch)
        self._corner.setGeometry(0, 0, self.verticalHeader().width(), header.height())
        self._corner.setVisible(self.rowCount() > 0)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if self._shown_preview is not None:
            self._fit()


def _side(type_: pa.DataType) -> Qt.AlignmentFlag:
    side = Qt.AlignmentFlag.AlignRight if is_right_aligned(type_) else Qt.AlignmentFlag.AlignLeft
    return side | Qt.AlignmentFlag.AlignVCenter


def button_text(kind: Kind, act: Act, effect: Effect) -> str:
    """The button's text: a verb and the number of rows or values."""
    if isinstance(act, Rename):
        return f"Rename {quantity(len(act.names), 'column')}"
    if isinstance(act, CastColumn):
        return "Change the type"
    if isinstance(act, Upsert):
        return f"Add {effect.inserted:,}, change {quantity(effect.changed, 'row')}"
    return f"{kind.verb} {quantity(effect.total, 'row')}"


def refusal(act: Act, effect: Effect) -> str:
    """Why the change cannot be made as it is; empty if it can."""
    if isinstance(act, Upsert) and effect.conflicting:
        which = f"{quantity(effect.conflicting, 'row')} have the same key as another row, but other values"
        return f"{which}. Choose which of them to use."
    if isinstance(act, CastColumn) and act.on_error == "refuse" and effect.conflicting:
        lost = quantity(effect.conflicting, "value")
        return f"{lost} cannot be read as {act.type}. Set them to NULL, or change them first."
    return ""


def effect_text(act: Act, effect: Effect) -> str:
    """The effect in sentences: exact counts, changed types, and the duration if it is long."""
    sentences = [_counts(act, effect)]
    for name, (before, after) in effect.types.items():
        is_new = before is None
        sentences.append(
            f"'{visible(name)}' is a new column ({type_text(after)})." if is_new
            else f"'{visible(name)}' becomes {type_text(after)}."
        )  # fmt: skip
    count = len(effect.preview.kinds)
    if count < max(effect.total, effect.conflicting):
        sentences.append(f"The first {count} are shown.")
    if effect.seconds >= SLOW_SECONDS:
        sentences.append(f"It takes about {effect.seconds:,.0f} s.")
    return " ".join(filter(None, sentences))


def _counts(act: Act, effect: Effect) -> str:
    if isinstance(act, Rename):
        return "No row changes."
    if isinstance(act, Upsert):
        return (
            f"{effect.inserted:,} new, {effect.changed:,} changed, {effect.same:,} the same, "
            f"{effect.conflicting:,} conflicting."
        )
    if isinstance(act, CastColumn):
        if act.on_error == "null":
            return f"{effect.matching:,} values, {effect.conflicting:,} of them become null."
        return f"{effect.matching - effect.conflicting:,} of {effect.matching:,} values can be read."
    if isinstance(act, Delete | DropDuplicates):
        return f"{effect.deleted:,} of {quantity(effect.matching, 'row')} are deleted."
    stay = f" {effect.nulls:,} are null and stay null." if effect.nulls else ""
    alike = effect.matching - effect.changed - effect.nulls
    same = f" {alike:,} already have this value." if alike > 0 else ""
    return f"{effect.changed:,} of {quantity(effect.matching, 'row')} change.{stay}{same}"
