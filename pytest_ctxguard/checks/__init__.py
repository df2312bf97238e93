"""The promises a test can make about a replay: one file per marker."""
