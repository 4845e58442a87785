"""What to send next and how to read the answer, without doing either: shared by `Client` and `AsyncClient`."""
