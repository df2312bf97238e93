"""vcrpy cassettes as files: their YAML or JSON, and the bodies in them."""
