"""Files of other formats: the modules that read them, and one error for all that goes wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from bigtensor.errors import (
    BigtensorError,
    FileFormatError,
    MissingDependencyError,
)


@contextmanager
def reading(path: Path | str, kind: str) -> Iterator[None]:
    """Turn errors of libraries that read a file into a `FileFormatError`.

    Which errors damaged bytes cause is no promise of any library, so that all of them are caught.
    Errors of this package pass through.

    Parameters
    ----------
    path : Path, or str that may be a URL
        The file.
    kind : str
        What the file should be, such as "Parquet".

    Raises
    ------
    FileFormatError
    """
    try:
        yield
    except BigtensorError:
        raise
    except MemoryError as error:
        # NumPy and SciPy name the size that they could not allocate
        raise FileFormatError(
            f"{path} asks for too much memory ({error or kind}); its sizes are "
            "damaged, or it is too large to be read at once: restore it from a copy, or split it"
        ) from error
    except FileNotFoundError as error:
        raise FileFormatError(f"{path} does not exist; check the path") from error
    except PermissionError as error:
        raise FileFormatError(
            f"{path} may not be read ({error.strerror}); ask its owner for permission"
        ) from error
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"{path} cannot be read as {kind}, because its text is not UTF-8 (it holds the byte "
            f"{error.object[error.start]:#04x}); export it again as UTF-8, or copy it again if it "
            "is damaged"
        ) from error
    except Exception as error:
        reason = " ".join(str(error).split())
        raise FileFormatError(
            f"{path} cannot be read as {kind} ({type(error).__name__}: {reason}); it is damaged, "
            "incomplete or something else: copy or export it again"
        ) from error


def optional_module(name: str, extra: str | None = None) -> ModuleType:
    """Import an optional module, and name its extra if it is absent.

    Parameters
    ----------
    name : str
        The module.
    extra : str, optional
        The extra of the package that brings it. None: its own package does.

    Raises
    ------
    MissingDependencyError
        If it is not installed; the message says how to install it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingDependencyError(
            f"this file needs the package {package}, which could not be imported "
            f"({error}): pip install " + (package if extra is None else f"'bigtensor[{extra}]'")
        ) from error
