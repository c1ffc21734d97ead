"""The window and its parts."""

from lamella.ui import override_errors as override_errors
