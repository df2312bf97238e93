"""Renderers: one value in, text out."""
