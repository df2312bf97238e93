"""A run as one HTML file: values, then charts, then the page."""

from pytest_ctxguard.report.html.page import render_html

__all__ = ["render_html"]
