"""Text files as rows: layout detected from the first block, types that change no value, a columnar cache."""
