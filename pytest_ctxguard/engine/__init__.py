"""The model on CPU: fetch, convert, load, decode."""
