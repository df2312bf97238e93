"""Transcripts: the model, its JSONL format, and where they are found."""
