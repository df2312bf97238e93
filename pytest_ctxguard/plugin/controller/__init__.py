"""The controller's part: it knows the whole run, and alone writes."""
