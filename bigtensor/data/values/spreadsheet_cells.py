"""Cells of tables that a spreadsheet program may open."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\N{FULLWIDTH EQUALS SIGN}")
"""Characters that a spreadsheet takes for the beginning of a formula, or skips before one."""


def as_text(name: str) -> str:
    """Return a name that no spreadsheet runs as a formula: an apostrophe comes before it.

    A formula could send the other cells away, or start a program (OWASP, "CSV injection"). A name
    that begins with such apostrophes itself gets one more, so that different names stay different.
    """
    return f"'{name}" if name.lstrip("'").startswith(_FORMULA) else name


def as_cell(name: str) -> str:
    """Return a name as a CSV cell, in quotes where it needs them."""
    text = as_text(name)
    if any(letter in text for letter in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def text_is_number(text: str) -> bool:
    """Return True if a text is a number. Unlike in Python, ``1_000`` is none."""
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text
