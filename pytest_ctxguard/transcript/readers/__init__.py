"""One reader per recorded format."""
