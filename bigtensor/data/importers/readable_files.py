"""Several files, of which all unreadable ones are reported together."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from bigtensor.errors import BigtensorError, DataError, UnreadableFilesError

Item = TypeVar("Item")
Result = TypeVar("Result")


def for_every_file(action: Callable[[Item], Result], files: Iterable[Item]) -> list[Result]:
    """Apply an action to every file, and raise the errors of all files together.

    Parameters
    ----------
    action : callable
        Takes a file.
    files : iterable
        All files of an import.

    Returns
    -------
    list
        Results in the order of the files.

    Raises
    ------
    UnreadableFilesError
        If the action raises a DataError for several files. The error of a single file is raised as
        it is.
    """
    results: list[Result] = []
    errors: list[BigtensorError] = []
    for file in files:
        try:
            results.append(action(file))
        except DataError as error:
            errors.append(error)
    if len(errors) == 1:
        raise errors[0]
    if errors:
        total = len(results) + len(errors)
        raise UnreadableFilesError.of_files(total, (error.message for error in errors))
    return results
