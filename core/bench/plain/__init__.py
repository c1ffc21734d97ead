"""A worker for other Pythons than our own, PyPy say: the workload of floats with the standard library alone.

From Python 3.8 on, so in words that it knows, and nothing of `core` is imported but
`core.bench.plain.step_gate`, which is as plain. It is run as `python -m bench.plain` from the folder `core`,
whose imports that Python may lack.
"""
