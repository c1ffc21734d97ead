"""The benchmark: workloads, systems under test, one child process each, and published figures."""
