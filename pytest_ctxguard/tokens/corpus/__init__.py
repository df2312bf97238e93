"""Texts in many languages and scripts, and of many kinds of content."""
