"""Everything that knows data; it imports no Qt. Its public names are in `lamella`."""
