"""The model store: find a model by name or path, fetch it, convert it once, keep it whole."""
