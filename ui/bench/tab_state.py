"""The choices in a benchmark's tab and its page of results, as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox

from lamella.ui.bench.benchmark_controls import BenchmarkControls, ConditionsForm
from lamella.ui.bench.results_view import DisplayBar

_CHECKED, _UNCHECKED = Qt.CheckState.Checked, Qt.CheckState.Unchecked
WORKLOAD = Qt.ItemDataRole.UserRole


def choices_of(controls: BenchmarkControls) -> dict[str, Any]:
    """What would be measured, and how, as JSON."""
    workload, form = controls.workload_choice, controls.conditions
    return {
        "workload": workload.box.currentData(),
        "workloads": [item.id for item in controls.workloads],
        "scale": workload.scale.currentData(),
        "rows": list(controls.size_choice.selection),
        "table_rows": controls.size_choice.table_rows,
        "repeats": controls.repeats.value(),
        "systems": list(controls.systems.selection),
        "fresh": form.fresh.isChecked(),
        "limit": form.limit.value(),
        "folder": str(form.folder),
        "interpreter": form.python.path,
    }


def choose_again(controls: BenchmarkControls, state: Mapping[str, Any]) -> None:
    """Restore choices as far as they still exist: a missing workload, system, folder or Python is ignored."""
    workload = controls.workload_choice
    if not _select(workload.box, state.get("workload")):
        return
    if workload.several:
        names = _texts(state.get("workloads"))
        for place in range(workload.list.count()):
            item = workload.list.item(place)
            item.setCheckState(_CHECKED if item.data(WORKLOAD) in names else _UNCHECKED)
        _select(workload.scale, state.get("scale"))
    else:
        _choose_sizes(controls, state)
    if systems := _texts(state.get("systems")):
        controls.systems.choose(systems)
    _choose_settings(controls.conditions, state)


def _choose_sizes(controls: BenchmarkControls, state: Mapping[str, Any]) -> None:
    rows, sizes = state.get("rows"), controls.size_choice
    if isinstance(rows, list) and rows and all(_is_count(each) and each for each in rows):
        sizes.choose(tuple(rows))
    if sizes.table_rows is not None and _is_count(state.get("table_rows")):
        sizes.table.setText(f"{state['table_rows']:,}")
    if _is_count(state.get("repeats")):
        controls.repeats.setValue(state["repeats"])


def _choose_settings(form: ConditionsForm, state: Mapping[str, Any]) -> None:
    form.fresh.setChecked(state.get("fresh") is True)
    if _is_count(state.get("limit")):
        form.limit.setValue(state["limit"])
    folder, interpreter = state.get("folder"), state.get("interpreter")
    if isinstance(folder, str) and Path(folder).is_dir():
        form.set_folder(Path(folder))
    if isinstance(interpreter, str) and Path(interpreter).is_file():
        form.python.choose(interpreter)


def look_of(display: DisplayBar) -> dict[str, Any]:
    """The page of results that is shown, and how, as JSON."""
    return {name: box.currentData() for name, box in _boxes(display).items()}


def look_again(display: DisplayBar, state: object) -> None:
    """Restore the page first, since it determines the other choices."""
    if isinstance(state, Mapping):
        for name, box in _boxes(display).items():
            _select(box, state.get(name))


def _boxes(display: DisplayBar) -> dict[str, QComboBox]:
    return {
        "page": display.views,
        "operation": display.operation,
        "shape": display.shape,
        "rows": display.rows,
        "scale": display.scale,
        "statistic": display.statistic,
        "samples": display.samples,
    }


def _select(box: QComboBox, value: object) -> bool:
    """Select a value; False if the box does not have it."""
    place = box.findData(value)
    if place >= 0:
        box.setCurrentIndex(place)
    return place >= 0


def _texts(value: object) -> Sequence[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 0
