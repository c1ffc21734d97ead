"""Indexes of a table, which find rows faster than reading all of them, and the planning of their use.

An index never affects an answer: it may be missing, or be rebuilt, at any moment.
"""
