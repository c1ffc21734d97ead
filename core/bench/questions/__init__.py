"""Workloads that ask questions of a filled database: an operation is a question, asked first and again."""
