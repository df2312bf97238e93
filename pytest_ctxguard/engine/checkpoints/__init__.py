"""Models as their makers publish them: GGUF files and folders in the hub's layout."""
