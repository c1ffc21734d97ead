"""Teaches mypy that constructors of Qt's classes take properties and signals as keywords.

`QLineEdit(accessibleName="Name")` sets the property, but the types that PySide6 brings list
only the arguments of the C++ constructors. Keywords of constructors of PySide6's own classes
are therefore not checked; their other arguments are, and so are classes of Lamella.
"""

from collections.abc import Callable

from mypy.nodes import ARG_STAR2
from mypy.plugin import FunctionSigContext, Plugin
from mypy.types import AnyType, CallableType, FunctionLike, TypeOfAny


def add_keywords(context: FunctionSigContext) -> FunctionLike:
    """Return the signature of a constructor of Qt with any further keyword."""
    signature = context.default_signature
    if not isinstance(signature, CallableType) or ARG_STAR2 in signature.arg_kinds:
        return signature
    return signature.copy_modified(
        arg_types=[*signature.arg_types, AnyType(TypeOfAny.explicit)],
        arg_kinds=[*signature.arg_kinds, ARG_STAR2],
        arg_names=[*signature.arg_names, "properties"],
    )


class QtProperties(Plugin):
    """The plugin that `pyproject.toml` names."""

    def get_function_signature_hook(
        self, fullname: str
    ) -> Callable[[FunctionSigContext], FunctionLike] | None:
        if fullname.startswith("PySide6.") and fullname.rpartition(".")[2].startswith("Q"):
            return add_keywords
        return None


def plugin(version: str) -> type[Plugin]:
    """Return the plugin's class; mypy calls this with its own version."""
    return QtProperties
