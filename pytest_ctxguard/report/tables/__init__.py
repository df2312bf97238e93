"""What the commands print: measured values as tables and as JSON."""
