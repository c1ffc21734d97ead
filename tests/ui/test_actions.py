from __future__ import annotations

from collections import Counter

import pytest
from PySide6.QtWidgets import QMainWindow

from lamella.ui.actions import ACTIONS, MENUS, TOOLBAR, Situation, sequences
from lamella.ui.style.icons import icon_svg
from lamella.ui.window.action_state import ActionSet


@pytest.fixture
def calls() -> list[str]:
    return []


@pytest.fixture
def window(qtbot):
    main_window = QMainWindow()
    qtbot.addWidget(main_window)
    return main_window


@pytest.fixture
def actions(window, calls) -> ActionSet:
    return ActionSet(window, {a.id: lambda a=a: calls.append(a.id) for a in ACTIONS})


def test_no_shortcut_belongs_to_two_actions() -> None:
    keys = [key.toString() for a in ACTIONS for key in sequences(a)]
    assert "" not in keys
    assert [key for key, n in Counter(keys).items() if n > 1] == []


def test_every_action_is_in_a_menu_once_and_its_icon_exists() -> None:
    assert [i for i, n in Counter(a.id for a in ACTIONS).items() if n > 1] == []
    assert {a.menu for a in ACTIONS} == set(MENUS)
    for action in ACTIONS:
        if action.icon:
            assert "currentColor" in icon_svg(action.icon)


def test_the_toolbar_names_actions_that_have_a_short_name() -> None:
    known = {a.id: a for a in ACTIONS}
    for action_id in (i for group in TOOLBAR for i in group):
        assert known[action_id].toolbar and known[action_id].icon


def test_triggering_calls_the_handler_of_its_id(actions, calls) -> None:
    actions["open"].trigger()
    assert calls == ["open"]


def test_actions_follow_the_situation(actions) -> None:
    assert not actions["undo"].isEnabled() and not actions["filter"].isEnabled()
    actions.update(Situation(dataset=True, table=True, undo="set late in 26,581 rows"))
    assert actions["filter"].isEnabled() and not actions["copy"].isEnabled()
    assert actions["undo"].isEnabled() and "26,581" in actions["undo"].toolTip()
    assert "Ctrl+Z" in actions["undo"].toolTip()


def test_a_context_menu_holds_its_actions_with_lines_between_groups(actions, window) -> None:
    menu = actions.context_menu("cell", window)
    names = [a.objectName() or "-" for a in menu.actions()]
    assert "copy" in names and "hide_column" not in names
    assert names[0] != "-" and names[-1] != "-" and "-" in names
