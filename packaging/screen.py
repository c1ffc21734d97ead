"""A small window that a file can be dragged from: `python drag_source.py FILE`; for packaging/bundle_test."""

from __future__ import annotations

import sys
from pathlib import Path

from PySide6.QtCore import QMimeData, Qt, QUrl
from PySide6.QtGui import QDrag, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel


class DragSource(QLabel):
    def __init__(self, file: Path) -> None:
        super().__init__("Drag me")
        self._file = file
        self.setWindowTitle("Drag source")
        self.setWindowFlag(Qt.WindowType.FramelessWindowHint)
        self.setGeometry(0, 0, 120, 80)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 -- Qt's name
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(self._file))])
        drag = QDrag(self)
        drag.setMimeData(data)
        drag.exec(Qt.DropAction.CopyAction)
        QApplication.quit()


if __name__ == "__main__":
    application = QApplication(sys.argv[:1])
    source = DragSource(Path(sys.argv[1]))
    source.show()
    sys.exit(application.exec())
