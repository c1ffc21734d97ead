"""The form of one connection, whose fields depend on the kind of server."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QFormLayout, QHBoxLayout, QLabel, QLineEdit, QWidget

from lamella.core.remote.connections import BadConnection, Connection
from lamella.core.remote.kinds import Kind, Secret
from lamella.ui import theme
from lamella.ui.widgets.controls import FieldForm, Reason

NONE = ""
REFERENCES = {
    NONE: ("Automatic", ""),
    "env": ("Environment variable", "NAME"),
    "profile": ("AWS profile", "name of the profile"),
    "keyring": ("Keyring", "service/user"),
}
"""Where a secret can be found, by the prefix of its reference: a label, and what to type."""


class SecretField(QWidget):
    """The reference to a secret; the secret itself is never shown here."""

    changed = Signal()

    def __init__(self, secret: Secret, reference: str, profiles: bool, parent: QWidget | None = None) -> None:
        """`profiles`: whether this kind of server can have secrets in profile files."""
        super().__init__(parent)
        self.secret = secret
        self.place_box = QComboBox(accessibleName=f"{secret.label}: where it is")
        for key, (label, _) in REFERENCES.items():
            if key != "profile" or profiles:
                self.place_box.addItem(label, key)
        self.name = QLineEdit(accessibleName=f"{secret.label}: its name there")
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(theme.S)
        line.addWidget(self.place_box)
        line.addWidget(self.name, 1)
        self.setFocusProxy(self.place_box)
        where, _, name = reference.partition(":")
        self.place_box.setCurrentIndex(max(0, self.place_box.findData(where)))
        self.name.setText(name)
        self.place_box.currentIndexChanged.connect(self._follow)
        self.name.textChanged.connect(self.changed)
        self._follow()

    @property
    def reference(self) -> str:
        """The reference; empty if the secret is not looked up."""
        where = self.place_box.currentData()
        return f"{where}:{self.name.text().strip()}" if where else ""

    def _follow(self) -> None:
        where = self.place_box.currentData()
        self.name.setEnabled(bool(where))
        self.name.setPlaceholderText(REFERENCES[where][1])
        if not where:
            self.name.clear()
        self.changed.emit()


class ConnectionForm(QWidget):
    """`changed` is emitted on every edit. Problems are explained below the fields, and marked in them."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._layout = FieldForm(self, horizontalSpacing=theme.L, verticalSpacing=theme.S)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        self._kind: Kind | None = None
        self.fields: dict[str, QLineEdit] = {}
        self.secrets: list[SecretField] = []
        self.anonymous: QCheckBox | None = None
        self.reason = Reason()

    def show_connection(self, kind: Kind, connection: Connection | None) -> None:
        """Show the fields of this kind of server, empty for a new connection."""
        self.reason.setParent(None)
        while self._layout.rowCount():
            self._layout.removeRow(0)
        self._kind, self.fields, self.secrets, self.anonymous = kind, {}, [], None
        self._add("name", "Name", connection.name if connection else "", "as it is listed here")
        if kind.endpoint:
            optional = "" if kind.needs_endpoint else ", or empty for default"
            self._add("endpoint", "Endpoint", connection.endpoint if connection else "",
                      f"{kind.endpoint}{optional}")  # fmt: skip
            self._add_note(kind.endpoint_note)
        for field in ("region", "profile", "account"):
            label = getattr(kind, field)
            if label:
                self._add(field, label, getattr(connection, field) if connection else "", "")
        places = ", ".join(connection.places) if connection else ""
        self._add(
            "places", kind.places.capitalize(), places, f"{kind.places} that it is for, or empty for all"
        )
        if kind.can_be_anonymous:
            self.anonymous = QCheckBox("Read public data without signing in")
            self.anonymous.setChecked(bool(connection and connection.anonymous))
            self.anonymous.toggled.connect(self._follow_anonymous)
            self._layout.addRow("", self.anonymous)
        self._add_secrets(kind, connection)
        self._layout.addRow(self.reason)
        self.reason.say("")
        self._follow_anonymous()
        self.fields["name"].setFocus()

    def connection(self) -> Connection:
        """The connection in the fields. Raises `BadConnection`, and shows the reason below the fields."""
        assert self._kind is not None
        try:
            connection = Connection(
                self.fields["name"].text().strip(),
                self._kind.name,
                places=tuple(part.strip() for part in self._text("places").split(",") if part.strip()),
                anonymous=self.anonymous is not None and self.anonymous.isChecked(),
                secrets={field.secret.name: field.reference for field in self._used_secrets()},
                **{name: self._text(name) for name in ("endpoint", "region", "profile", "account")},
            )
        except BadConnection as error:
            self.refuse(error)
            raise
        self._mark("")
        self.reason.say("")
        return connection

    def refuse(self, error: BadConnection) -> None:
        self._mark(error.field)
        self.reason.say(str(error))

    def _add(self, name: str, label: str, text: str, hint: str) -> None:
        field = QLineEdit(text, placeholderText=hint, accessibleName=label)
        field.textChanged.connect(self.changed)
        self.fields[name] = field
        self._layout.addRow(label, field)

    def _add_secrets(self, kind: Kind, connection: Connection | None) -> None:
        secrets = connection.secrets if connection else {}
        for secret in kind.secrets:
            field = SecretField(secret, secrets.get(secret.name, ""), profiles=bool(secret.profile_key))
            field.changed.connect(self.changed)
            self.secrets.append(field)
            self._layout.addRow(secret.label, field)
        if kind.secrets:
            self._add_note("Secrets themselves are never saved, only where to find them.")

    def _add_note(self, text: str) -> None:
        if text:
            note = QLabel(text, wordWrap=True)
            theme.variant(note, "caption")
            self._layout.addRow("", note)

    def _used_secrets(self) -> list[SecretField]:
        return [field for field in self.secrets if field.isEnabled() and field.reference]

    def _text(self, name: str) -> str:
        return self.fields[name].text().strip() if name in self.fields else ""

    def _follow_anonymous(self) -> None:
        signs_in = self.anonymous is None or not self.anonymous.isChecked()
        for field in self.secrets:
            field.setEnabled(signs_in)
            self._layout.labelForField(field).setEnabled(signs_in)
        self.changed.emit()

    def _mark(self, name: str) -> None:
        for field_name, field in self.fields.items():
            theme.variant(field, "invalid" if field_name == name else "")
        for secret in self.secrets:
            wrong = name == "secrets" and bool(secret.reference)
            theme.variant(secret.name, "invalid" if wrong else "")
