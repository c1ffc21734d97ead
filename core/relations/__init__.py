"""Declared links between tables of a store: followed both ways, checked, suggested, and seen as a graph."""

from __future__ import annotations

from lamella.core.relations.relation import Direction, Link, Relation

__all__ = ["Direction", "Link", "Relation"]
