"""What is asked of every system: a module for each workload, with its data, its operations and their right
answers."""
