"""A worker for other Pythons, such as PyPy: the workload of floats, with the standard library only.

It works on Python 3.8 and later, so it uses only the syntax of 3.8 and imports nothing else of `core`. It is
run as `python -m bench.plain` from the folder `core`, because that Python may lack the packages that `core`
imports.
"""
