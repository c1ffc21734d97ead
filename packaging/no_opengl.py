"""Replaces PySide6.QtOpenGL and PySide6.QtOpenGLWidgets (12 MB) in the bundle.

pyqtgraph imports both to draw curves with OpenGL, which Lamella does not use.
"""

from PySide6.QtWidgets import QWidget as QOpenGLWidget

__all__ = ["QOpenGLWidget"]
