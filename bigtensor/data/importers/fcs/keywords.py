"""Values of FCS keywords, with checks of their types."""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from bigtensor.errors import FileFormatError

_MOST_SHOWN = 60
"""Characters of a value that a message shows."""

_REMEDY = "correct the keyword, or export the file again from the instrument's software"


@dataclass(frozen=True)
class Keywords:
    """Keywords of one data set.

    Parameters
    ----------
    path : Path
        The file, for messages.
    values : mapping of str to str
        Values by keywords in lower case and without ``$``.
    """

    path: Path
    values: Mapping[str, str] = field(repr=False)

    def text(self, key: str, default: str | None = None) -> str:
        """Return a value without blanks around it.

        Parameters
        ----------
        key : str
            The keyword, in lower case and without ``$``.
        default : str, optional
            What an absent or empty value stands for. By default the keyword is required.

        Raises
        ------
        FileFormatError
            If a required keyword is absent.
        """
        value = self.values.get(key, "").strip()
        if value:
            return value
        if default is None:
            raise FileFormatError(
                f"{self.path} lacks the keyword ${key.upper()} in its TEXT segment, or the keyword "
                "is blank; export it again from the instrument's software"
            )
        return default

    def integer(self, key: str, default: int | None = None) -> int:
        """Return a whole number.

        Parameters
        ----------
        key : str
            The keyword, in lower case and without ``$``.
        default : int, optional
            What an absent or empty value stands for. By default the keyword is required.

        Raises
        ------
        FileFormatError
            If the value is no whole number, or a required keyword is absent.
        """
        number = whole_number(self.text(key, None if default is None else str(default)))
        if number is None:
            raise self.refusal(key, "is no whole number")
        return number

    def number(self, key: str, default: float | None = None) -> float:
        """Return a finite number.

        Parameters
        ----------
        key : str
            The keyword, in lower case and without ``$``.
        default : float, optional
            What an absent or empty value stands for. By default the keyword is required.

        Raises
        ------
        FileFormatError
            If the value is no finite number, or a required keyword is absent.
        """
        number = finite_number(self.text(key, None if default is None else str(default)))
        if number is None:
            raise self.refusal(key, "is no finite number")
        return number

    def refusal(self, key: str, reason: str) -> FileFormatError:
        """Return the error for a value that cannot be used.

        Parameters
        ----------
        key : str
            The keyword, in lower case and without ``$``.
        reason : str
            Why the value cannot be used.
        """
        return FileFormatError(f"{self.path}: {self.shown(key)} {reason}; {_REMEDY}")

    def shown(self, key: str) -> str:
        """Return keyword and value for a message, of bounded length.

        Parameters
        ----------
        key : str
            The keyword, in lower case and without ``$``.
        """
        value = self.text(key, "")
        cut = value if len(value) <= _MOST_SHOWN else f"{value[:_MOST_SHOWN]}..."
        return f"${key.upper()}={cut}"


def index_keywords(pairs: Iterable[tuple[str, str]]) -> tuple[dict[str, str], list[str]]:
    """Index keywords by their names in lower case and without ``$``.

    Parameters
    ----------
    pairs : iterable of (str, str)
        Keywords and values as they are spelled.

    Returns
    -------
    values : dict of str to str
        A standard keyword (``$``) has precedence over a user's keyword of the rest of its name, and
        of repeated keywords the last counts.
    conflicts : list of str
        Keywords that are repeated with other values.
    """
    values: dict[str, str] = {}
    conflicts: dict[str, None] = {}
    for key, value in pairs:
        name = key.strip().lower()
        if values.get(name, value) != value:
            conflicts[key.strip()] = None
        values[name] = value
    standard = {name[1:]: value for name, value in values.items() if name.startswith("$")}
    others = {name: value for name, value in values.items() if not name.startswith("$")}
    return others | standard, list(conflicts)


def whole_number(text: str) -> int | None:
    """Read a whole number in ASCII digits.

    Returns
    -------
    int or None
        None if the text is anything else.
    """
    # Twenty digits reach beyond any file. int() refuses thousands of them with an error of its own.
    return int(text) if re.fullmatch(r"\s*[+-]?[0-9]{1,20}\s*", text) else None


def finite_number(text: str) -> float | None:
    """Read a finite number.

    Returns
    -------
    float or None
        None if the text is anything else.
    """
    if "_" in text or not text.isascii():
        return None
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
