"""Every error and warning that bigtensor raises on purpose.

Each error also inherits the builtin that a caller would expect to catch. Every message says what
was received and what would fix it. A message names a parameter by a `Setting`, so that Python and
the command line each write it as their users give it.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from traceback import walk_stack
from typing import Any, SupportsIndex

MOST_CHARACTERS = 3000
"""Length of a message that can still be read."""

_PASSWORD = re.compile(r"(://[^/\s:@\[]*):(?!\d*/)(?:[^/\s]+|[^\s@]+)@")
"""Password of a URL. Secret keys may hold a slash, and a port before a slash is no password."""

_SIGNATURE = re.compile(
    r"([?&](?:X-(?:Amz|Goog)-(?:Signature|Security-Token)|Signature|sig|token|access_token"
    r"|password)=)[^&\s'\")]+",
    re.IGNORECASE,
)
"""Parameter of a URL that lets anyone who has it read what it leads to."""


class Message(str):
    """Text that names parameters by a `Setting` each.

    It is a string in which parameters are written for Python. Text is added to it with ``+`` or
    ``join``. Any other operation on strings, such as an f-string around it, returns plain text.

    Parameters
    ----------
    *parts : str
        Texts, settings and messages, in their order.
    """

    _parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Message:
        """Join the parts."""
        message = super().__new__(cls, "".join(parts))
        message._parts = tuple(piece for part in parts for piece in _parts_of(part))
        return message

    @property
    def parts(self) -> tuple[str, ...]:
        """Plain texts and settings, in their order."""
        return self._parts

    def written(self, write: Callable[[Setting], str]) -> str:
        """Return the text with every setting as a function writes it.

        Parameters
        ----------
        write : callable
            Called with every setting. Returns its text.
        """
        return "".join(write(part) if isinstance(part, Setting) else part for part in self.parts)

    def __add__(self, other: str) -> Message:
        return Message(self, other)

    def __radd__(self, other: str) -> Message:
        return Message(other, self)

    def join(self, parts: Iterable[str]) -> Message:
        """Return the parts with this message between them."""
        first, *others = [*parts] or [""]
        return Message(first, *(piece for part in others for piece in (self, part)))

    def __reduce_ex__(self, _protocol: SupportsIndex) -> tuple[Any, ...]:
        return type(self), self.parts


class Setting(Message):
    """A parameter, or a parameter with the values to give it, as a message names it.

    Parameters
    ----------
    name : str
        Of the parameter in Python.
    *values : object
        One value, or several to choose from. Without a value the parameter alone is named.
    within : str, optional
        Keyword argument that takes the parameter as a field, such as
        ``"spectral=SpectralOptions"``.

    Examples
    --------
    >>> error = DataError("row 5 is NaN; use " + Setting("missing", "omit") + " to leave it out")
    >>> str(error)
    "row 5 is NaN; use missing='omit' to leave it out"
    >>> error.message.written(lambda setting: f"--{setting.name} {setting.values[0]}")
    'row 5 is NaN; use --missing omit to leave it out'
    >>> str(Setting("bins", 64, within="spectral=SpectralOptions"))
    'spectral=SpectralOptions(bins=64)'
    """

    name: str
    values: tuple[object, ...]
    within: str | None

    def __new__(cls, name: str, *values: object, within: str | None = None) -> Setting:
        """Write the parameter for Python."""
        choices = f"={' or '.join(map(_for_python, values))}" if values else ""
        text = f"{name}{choices}"
        if within is not None:
            text = f"{within}({text})" if values else f"{name} in {within}(...)"
        setting = str.__new__(cls, text)
        setting.name, setting.values, setting.within = name, values, within
        return setting

    @property
    def parts(self) -> tuple[str, ...]:
        """The setting."""
        return (self,)

    def __reduce_ex__(self, _protocol: SupportsIndex) -> tuple[Any, ...]:
        return partial(Setting, within=self.within), (self.name, *self.values)


def shortened(text: str) -> str:
    """Leave out the middle of a long text. The remedy of an error comes last."""
    surplus = len(text) - MOST_CHARACTERS
    if surplus <= 0:
        return text
    head, tail = text[: MOST_CHARACTERS * 2 // 3], text[-MOST_CHARACTERS // 3 :]
    return f"{head} [{surplus:,} characters left out] {tail}"


def without_passwords(text: str) -> str:
    """Return a text in which passwords and signatures of URLs are replaced by stars.

    Examples
    --------
    >>> without_passwords("sftp://me:secret@host/cells.zarr")
    'sftp://me:***@host/cells.zarr'
    """
    if "://" not in text:
        return text
    return _SIGNATURE.sub(r"\1***", _PASSWORD.sub(r"\1:***@", text))


def hide_passwords(error: BaseException) -> BaseException:
    """Return an error of another library after removing passwords from it and from its causes.

    A traceback shows the causes of an error too.
    """
    link: BaseException | None = error
    visited: list[BaseException] = []
    # a chain of causes may be a circle
    while link is not None and not any(link is earlier for earlier in visited):
        visited.append(link)
        words = tuple(without_passwords(a) if type(a) is str else a for a in link.args)
        if words != link.args:
            link.args = words
        if isinstance(link, OSError):
            for name in ("filename", "strerror"):
                text = getattr(link, name)
                if type(text) is str and text != without_passwords(text):
                    setattr(link, name, without_passwords(text))
        link = link.__cause__ or link.__context__
    return error


def message_of(error: BaseException) -> Message:
    """Return the message of an error or a warning, with its settings where it has any."""
    carried = error.args[0] if len(error.args) == 1 else None
    parts = carried.parts if isinstance(carried, Message) else (str(error),)
    return Message(
        *(part if isinstance(part, Setting) else without_passwords(part) for part in parts)
    )


def _for_python(value: object) -> str:
    """Return a value as it is given in Python. NumPy would show the type of a number."""
    return repr(str(value)) if isinstance(value, str) else str(value)


def _parts_of(text: str) -> tuple[str, ...]:
    """Return the parts of a message, or plain text as the only part."""
    return text.parts if isinstance(text, Message) else (text,)


class BigtensorError(Exception):
    """Root of all errors raised on purpose.

    Messages quote names and values of files and the words of other libraries, which a damaged file
    can make as long as it is. The middle of a long message is left out. Passwords of URLs are
    replaced by stars.
    """

    @property
    def message(self) -> Message:
        """The message, with the parameters that it names."""
        return message_of(self)

    def __str__(self) -> str:
        return shortened(without_passwords(super().__str__()))

    def __repr__(self) -> str:
        return without_passwords(super().__repr__())


class ParameterError(BigtensorError, ValueError):
    """A parameter of a model, a function or a command is out of range or contradicts another."""


class ConditionError(ParameterError):
    """A condition on rows cannot be read, or names something that the data do not have."""


class NoPopulationsError(ParameterError, AttributeError):
    """A model was asked for populations, but its components were not merged."""


class DataError(BigtensorError, ValueError):
    """The data cannot be used as they are."""


class ViewError(DataError):
    """Views name unknown or repeated features, or are fewer than the model needs."""


class LayoutError(DataError):
    """The dimensions or the chunks of the input do not allow it to be read by rows."""


class MissingValueError(DataError):
    """Rows hold values that are not finite, and the caller asked to be told."""


class FileFormatError(DataError):
    """A file to import is damaged, or holds something that cannot be read faithfully."""


class UnreadableFilesError(FileFormatError):
    """Several files of an import cannot be read.

    Attributes
    ----------
    reasons : tuple of str
        One for each file that cannot be read. Each names its file.
    """

    reasons: tuple[str, ...] = ()

    @classmethod
    def of_files(cls, total: int, reasons: Iterable[str]) -> UnreadableFilesError:
        """Return the error for some of the files of an import."""
        named = tuple(reasons)
        first = f"{len(named)} of {total} files cannot be read, so that none was used"
        error = cls(Message("\n").join([first, *named]))
        error.reasons = named
        return error


class StoreReadError(OSError, DataError):
    """A store could not be read: a wrong path, a truncated or corrupted chunk.

    The builtin comes first, because only then does pickle restore the error on another process.
    """

    __str__ = BigtensorError.__str__
    __repr__ = BigtensorError.__repr__


class DataChangedError(DataError, RuntimeError):
    """A store changed while it was read, so that no sum over it means anything."""


class IdentifiabilityError(DataError):
    """The data do not support the requested model, for example too many components."""


class PlanError(MemoryError, BigtensorError):
    """The planned work does not fit into the allowed memory.

    The builtin comes first: it alone can make the object that tblib restores on another process.
    """

    __str__ = BigtensorError.__str__
    __repr__ = BigtensorError.__repr__


class CheckpointError(BigtensorError, OSError):
    """A checkpoint could not be written or read."""


class OutputError(BigtensorError, OSError):
    """A result could not be written."""


class ClusterError(BigtensorError, RuntimeError):
    """Workers or the scheduler went away, or there are none."""


class ModelFileError(BigtensorError, ValueError):
    """A saved model is damaged, is not a model, or is of a format that this version cannot read."""


class StatisticsError(BigtensorError, ValueError):
    """Statistics do not belong together: another preparation or pass, or rows counted twice."""


class MissingDependencyError(BigtensorError, ImportError):
    """An optional library is needed; the message names the extra that installs it."""


class BigtensorWarning(UserWarning):
    """Root of all warnings issued on purpose."""

    def __str__(self) -> str:
        return without_passwords(super().__str__())

    def __repr__(self) -> str:
        return without_passwords(super().__repr__())


class LayoutWarning(BigtensorWarning):
    """The chunks of a store make it slow or heavy on memory to read; the result is right."""


class FileFormatWarning(BigtensorWarning):
    """Something in an imported file was repaired, rounded or left out, or is not decoded."""


class TransformWarning(BigtensorWarning):
    """A transform does not suit the range of the values; the result is right."""


class MissingValueWarning(BigtensorWarning):
    """Missing values were left out, as was asked for, or probably count as categories."""


class WeightWarning(BigtensorWarning):
    """Rows probably count otherwise than is meant.

    Sample weights add up to less than half the number of rows, a few rows hold most of the weight,
    rows lack the weights that the rows of the fit had, statistics that are merged have rows in
    common, statistics that are solved lack many of the expected rows, the first batch after a fit
    replaces the rows of the fit, or a DataArray has weights that are not used.
    """


class ConstantFeatureWarning(BigtensorWarning):
    """Features with one value only were left out of a fit."""


class LabelWarning(BigtensorWarning):
    """Labels of some rows were given to a model that takes none, and are ignored."""


class SequenceWarning(BigtensorWarning):
    """Sequences are cut in a way that is probably not meant."""


class OtherRowsWarning(BigtensorWarning):
    """Answers are put beside data whose values are not those that were answered."""


class ConditioningWarning(BigtensorWarning):
    """The data hardly support what was asked for, such as so many components."""


class ClusterWarning(BigtensorWarning):
    """A cluster has no worker, and the work waits for one."""


class VersionWarning(BigtensorWarning):
    """A pickle holds a model of another version of the package."""


class RefinementWarning(BigtensorWarning):
    """An iteration stopped before it settled, and the answer depends on when it stopped.

    Models warn with a class that is :class:`sklearn.exceptions.ConvergenceWarning` too.
    """


def warn(message: str, category: type[BigtensorWarning]) -> None:
    """Issue a warning at the line of the user's code that called the package in this thread.

    Parameters
    ----------
    message : str
        Text or `Message`.
    category : type
        Class of the warning.
    """
    # Outermost, because the package is called back. scikit-learn wraps `fit` for its callbacks.
    depths = (
        depth
        for depth, (frame, _) in enumerate(walk_stack(sys._getframe()), start=2)
        if (frame.f_globals.get("__name__") or "").partition(".")[0] in ("bigtensor", "sklearn")
    )
    warnings.warn(message, category, stacklevel=max(depths))  # noqa: TID251
