"""The systems under test, each in a module that is imported only when it is needed."""
