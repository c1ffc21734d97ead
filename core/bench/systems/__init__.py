"""The systems under test, a module each; imported only when they are asked for."""
