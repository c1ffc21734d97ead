"""What finds rows faster than looking at all: indexes of a table, and how a query is served by them.

An index never decides what an answer is: it may be missing, or be made anew, at any moment.
"""
