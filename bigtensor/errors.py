"""Every error and warning that bigtensor raises on purpose.

Each error also inherits the builtin that a caller would expect to catch. Every message says what
was received and what would fix it.
"""

MOST_CHARACTERS = 3000
"""Length of a message that can still be read."""


class BigtensorError(Exception):
    """Root of all errors raised on purpose.

    Messages quote names and values of files and the words of other libraries, which a damaged file
    can make as long as it is. The middle of a long message is left out.
    """

    def __str__(self) -> str:
        message = super().__str__()
        surplus = len(message) - MOST_CHARACTERS
        if surplus <= 0:
            return message
        # the remedy comes last
        head, tail = message[: MOST_CHARACTERS * 2 // 3], message[-MOST_CHARACTERS // 3 :]
        return f"{head} [{surplus:,} characters left out] {tail}"


class ParameterError(BigtensorError, ValueError):
    """A parameter of a model, a function or a command is out of range or contradicts another."""


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


class StoreReadError(OSError, DataError):
    """A store could not be read: a wrong path, a truncated or corrupted chunk.

    The builtin comes first, because only then does pickle restore the error on another process.
    """

    __str__ = BigtensorError.__str__


class DataChangedError(DataError, RuntimeError):
    """A store changed while it was read, so that no sum over it means anything."""


class IdentifiabilityError(DataError):
    """The data do not support the requested model, for example too many components."""


class PlanError(BigtensorError, MemoryError):
    """The planned work does not fit into the allowed memory."""


class CheckpointError(BigtensorError, OSError):
    """A checkpoint could not be written or read."""


class OutputError(BigtensorError, OSError):
    """A result could not be written."""


class ClusterError(BigtensorError, RuntimeError):
    """Workers or the scheduler went away, or there are none."""


class ModelFileError(BigtensorError, ValueError):
    """A saved model is damaged, is not a model, or is newer than this version can read."""


class StatisticsError(BigtensorError, ValueError):
    """Statistics do not belong together: another preparation or pass, or rows counted twice."""


class MissingDependencyError(BigtensorError, ImportError):
    """An optional library is needed; the message names the extra that installs it."""


class BigtensorWarning(UserWarning):
    """Root of all warnings issued on purpose."""


class LayoutWarning(BigtensorWarning):
    """The chunks of a store make it slow or heavy on memory to read; the result is right."""


class FileFormatWarning(BigtensorWarning):
    """Something in an imported file was repaired or left out."""


class MissingValueWarning(BigtensorWarning):
    """Rows with missing values were left out, as was asked for."""


class ConstantFeatureWarning(BigtensorWarning):
    """Features with one value only were left out of a fit."""


class ConditioningWarning(BigtensorWarning):
    """The data do not support the mixture that was asked for, such as so many components."""


class RefinementWarning(BigtensorWarning):
    """An iteration stopped before it settled, and the answer depends on when it stopped."""
