"""The workloads, each in a module with its data, its operations and their right answers."""
