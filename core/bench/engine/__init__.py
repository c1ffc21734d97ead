"""How benchmarks are run: child processes, their limits, and the judge of their answers."""
