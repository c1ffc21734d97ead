"""Scrolling over more rows than Qt can: a window of rows that moves when its edge comes near."""

from __future__ import annotations

from lamella.ui.grid.places import CellPlaces


class WindowScrolling(CellPlaces):
    """Rows outside of the window are reached by moving it; on screen nothing jumps."""

    _moving = False  # the window is being moved, and where the bar stands means nothing

    def show_cell(self, row: int, place: int) -> None:
        """Scroll as little as needed; to the middle when it is far."""
        rows = self.visible_rows()
        if rows and not rows[0] <= row <= rows[-1]:
            near = rows[0] - len(rows) <= row <= rows[-1] + len(rows)
            if not near:
                self.scroll_to_row(row - len(rows) // 2)
        self.bring_window(row)
        top, height = self.row_top(row), self.row_height
        bar = self.verticalScrollBar()
        if top < 0:
            bar.setValue(bar.value() + top)
        elif top + height > self.viewport().height():
            bar.setValue(bar.value() + top + height - self.viewport().height())
        self._show_column(place)

    def _show_column(self, place: int) -> None:
        header, bar = self.horizontalHeader(), self.horizontalScrollBar()
        column = self.column_at(place)
        x, width = header.sectionViewportPosition(column), header.sectionSize(column)
        if x < 0 or width > self.viewport().width():
            bar.setValue(bar.value() + x)
        elif x + width > self.viewport().width():
            bar.setValue(bar.value() + x + width - self.viewport().width())

    def top_row(self) -> int:
        """The first row on screen."""
        rows = self.visible_rows()
        return rows[0] if rows else 0

    def scroll_to_row(self, row: int) -> None:
        """Put a row at the top, as far as there are rows below it."""
        row = min(max(row, 0), max(0, self.grid_model.num_rows - 1))
        self.bring_window(row)
        self._moving = True
        self.verticalScrollBar().setValue((row - self.grid_model.start) * self.row_height)
        self._moving = False
        self.after_scroll()

    def bring_window(self, row: int) -> None:
        """Move the window of rows when `row` is outside of it or close to its edge."""
        model = self.grid_model
        if not model.is_windowed:
            return
        edge, inside = model.window // 8, row - model.start
        near_top = inside < edge and model.start > 0
        near_bottom = inside > model.window - edge and model.start + model.window < model.num_rows
        if near_top or near_bottom:
            bar = self.verticalScrollBar()
            moved = model.move_window(row - model.window // 2)
            self._moving = True
            bar.setValue(min(max(bar.value() - moved * self.row_height, 0), bar.maximum()))
            self._moving = False
            self.verticalHeader().viewport().update()
            self.viewport().update()

    def after_scroll(self) -> None:
        """Told after every move; answers what it takes to show the rows."""
        raise NotImplementedError
