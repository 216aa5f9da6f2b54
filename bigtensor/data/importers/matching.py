"""Match the columns of several files to the features of one store."""

from collections.abc import Mapping, Sequence
from typing import Literal

from bigtensor.data.importers.source import ImportSource
from bigtensor.errors import DataError, ParameterError, Setting

Channels = Literal["same", "common"]

_LISTED = 3
"""Files that a note names for a feature."""

_MOST_FEATURES = 20
"""Features that a note names."""


def match_features(
    sources: Sequence[ImportSource], channels: Channels
) -> tuple[tuple[str, ...], list[list[int]]]:
    """Match the columns of several files by the names of their features.

    Parameters
    ----------
    sources : sequence of ImportSource
        The files, at least one.
    channels : {"same", "common"}
        ``"same"``: differences are an error. ``"common"``: features of all files are used.

    Returns
    -------
    features : tuple of str
        In the order of the first file.
    columns : list of list of int
        For each file the columns that hold them.

    Raises
    ------
    DataError
        If the files differ although they must not, or have nothing in common.
    ParameterError
        If `channels` is unknown.
    """
    if channels not in ("same", "common"):
        raise ParameterError(Setting("channels") + f" must be 'same' or 'common', not {channels!r}")
    first = sources[0]
    features = first.features
    if channels == "common":
        common = set(features).intersection(*(source.features for source in sources))
        features = tuple(name for name in features if name in common)
        if not features:
            raise DataError(
                "the files have no feature in common: " + "; ".join(_listing(s) for s in sources)
            )
    else:
        differences = [
            f"{source.path.name} {_difference(source.features, features)}"
            for source in sources[1:]
            if set(source.features) != set(features)
        ]
        if differences:
            raise DataError(
                f"the files differ from {first.path.name}: {'; '.join(differences)}. "
                "Import the common features with "
                + Setting("channels", "common")
                + ", or the files apart"
            )
    return features, [[source.features.index(name) for name in features] for source in sources]


def features_in_some(
    sources: Sequence[ImportSource], features: Sequence[str]
) -> dict[str, list[str]]:
    """Return the names of the files that have a feature which others lack, by the feature.

    Parameters
    ----------
    sources : sequence of ImportSource
        The files.
    features : sequence of str
        Features of all files.
    """
    files: dict[str, list[str]] = {}
    for source in sources:
        for name in source.features:
            if name not in features:
                files.setdefault(name, []).append(source.path.name)
    return files


def note_on_features_in_some(files: Mapping[str, Sequence[str]]) -> str:
    """Return a note on the features that some files lack, empty if there are none.

    Parameters
    ----------
    files : mapping of str to sequence of str
        Result of `features_in_some`.
    """
    listed = [
        f"{name} ({', '.join(having[:_LISTED])}"
        + (f" and {len(having) - _LISTED:,} more)" if len(having) > _LISTED else ")")
        for name, having in files.items()
    ]
    if not listed:
        return ""
    more = len(listed) - _MOST_FEATURES
    return (
        f"features that are not in all files are left out: {', '.join(listed[:_MOST_FEATURES])}"
        + (f" and {more:,} more" if more > 0 else "")
        + "; if one marker has two names, give "
        + Setting("panel")
    )


def _difference(names: Sequence[str], expected: Sequence[str]) -> str:
    """Return the features that a file lacks, and those that it has besides, in words."""
    lacking, besides = sorted(set(expected) - set(names)), sorted(set(names) - set(expected))
    parts = [f"lacks {lacking}" if lacking else "", f"has {besides} besides" if besides else ""]
    return " and ".join(filter(None, parts))


def _listing(source: ImportSource) -> str:
    """Return a file's name with its features."""
    return f"{source.path.name} has {list(source.features)}"
