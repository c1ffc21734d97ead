"""Stands in the bundle for PySide6.QtOpenGL and PySide6.QtOpenGLWidgets, 12 MB.

pyqtgraph imports both for curves that it would draw with OpenGL; nothing here asks for that.
"""

from PySide6.QtWidgets import QWidget as QOpenGLWidget

__all__ = ["QOpenGLWidget"]
