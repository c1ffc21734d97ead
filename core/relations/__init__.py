"""Declared links between tables of a store: followed in both directions, checked, suggested, and read as
graphs."""

from __future__ import annotations

from lamella.core.relations.relation import Direction, Link, Relation

__all__ = ["Direction", "Link", "Relation"]
