"""Views: named groups of features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from bigtensor.errors import ViewError

ViewsLike = Mapping[str, Sequence[str] | Sequence[int]]

_MOST_NAMES = 30
"""Features that an error lists."""


@dataclass(frozen=True)
class Views:
    """Named groups of features that are independent of each other given the hidden component.

    Attributes
    ----------
    features : tuple of tuples
        Every view's name with the names of its features, in order.
    columns : tuple of tuples of int
        Every view's columns in the data, in the same order.

    Examples
    --------
    >>> views = Views.resolve({"t": ["CD3", "CD4"], "b": ["CD19"]}, ["CD19", "CD3", "CD4"])
    >>> views.columns
    ((1, 2), (0,))
    """

    features: tuple[tuple[str, tuple[str, ...]], ...]
    columns: tuple[tuple[int, ...], ...]

    @classmethod
    def resolve(cls, views: ViewsLike | None, features: Sequence[str]) -> Views:
        """Find the columns of every view among the features of the data.

        Parameters
        ----------
        views : mapping of str to sequence of str or of int, optional
            Feature names, or column indices for plain arrays. None: every feature is its own view.
        features : sequence of str
            The feature names of the data, in order.

        Raises
        ------
        ViewError
            When the views are not a mapping of lists, a view is empty, or a feature is unknown,
            repeated in the data and asked for by name, or in two views.
        """
        if views is None:
            views = {name: [name] for name in features}
        if not isinstance(views, Mapping):
            raise ViewError(
                f"views are {type(views).__name__}; expected a mapping of view names to features, "
                "such as {'t': ['CD3', 'CD4'], 'b': ['CD19']}"
            )
        named, columns, taken = [], [], dict[int, str]()
        places = dict[str, list[int]]()
        for index, feature in enumerate(features):
            places.setdefault(feature, []).append(index)
        for view, members in views.items():
            if isinstance(members, str | int | np.integer):
                raise ViewError(
                    f"view {view!r} is {members!r}; expected a list of features: [{members!r}]"
                )
            if not len(members):
                raise ViewError(f"view {view!r} has no features; name at least one or leave it out")
            indices = tuple(_column(member, view, places, len(features)) for member in members)
            for index in indices:
                if index in taken:
                    raise ViewError(
                        f"feature {features[index]!r} is in view {taken[index]!r} and again in "
                        f"view {view!r}; a feature belongs to one view"
                    )
                taken[index] = view
            named.append((str(view), tuple(features[index] for index in indices)))
            columns.append(indices)
        return cls(tuple(named), tuple(columns))

    @classmethod
    def together(cls, name: str, features: Sequence[str]) -> Views:
        """Return one view of all features.

        Parameters
        ----------
        name : str
            Name of the view.
        features : sequence of str
            The feature names of the data, in order; they may repeat.
        """
        return cls(((name, tuple(features)),), (tuple(range(len(features))),))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the views, in order."""
        return tuple(name for name, _ in self.features)

    @property
    def widths(self) -> tuple[int, ...]:
        """The number of features of every view."""
        return tuple(len(columns) for columns in self.columns)

    @property
    def slices(self) -> dict[str, slice]:
        """The columns of every view once the features are laid out one view beside the other."""
        slices, start = {}, 0
        for name, width in zip(self.names, self.widths, strict=True):
            slices[name] = slice(start, start + width)
            start += width
        return slices

    @property
    def order(self) -> tuple[int, ...]:
        """The columns of the data, one view beside the other."""
        return tuple(index for columns in self.columns for index in columns)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the features, one view beside the other."""
        return tuple(name for _, members in self.features for name in members)

    def keeping(self, kept: Sequence[int]) -> Views:
        """Return views of some of the features; a view without features disappears.

        Parameters
        ----------
        kept : sequence of int
            Positions of the features, one view beside the other.
        """
        positions, start = {*kept}, 0
        features, columns = [], []
        for (name, members), indices in zip(self.features, self.columns, strict=True):
            places = [place for place in range(len(members)) if start + place in positions]
            start += len(members)
            if places:
                features.append((name, tuple(members[place] for place in places)))
                columns.append(tuple(indices[place] for place in places))
        return Views(tuple(features), tuple(columns))

    def as_mapping(self) -> dict[str, list[str]]:
        """Return the views as a plain mapping of feature names."""
        return {name: list(members) for name, members in self.features}


def _listed(names: Sequence[str]) -> str:
    """Return the first names: genes are thousands, and the remedy of an error follows the list."""
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return f"there are {', '.join(names[:_MOST_NAMES])}{more}"


def _column(member: str | int, view: str, places: Mapping[str, list[int]], width: int) -> int:
    """Return the column of one member of a view, given the columns of every feature name."""
    if isinstance(member, str):
        matches = places.get(member.strip(" "), [])
        if len(matches) > 1:
            raise ViewError(
                f"feature {member!r} of view {view!r} occurs {len(matches)} times in the data; "
                "rename the features so that each name occurs once (spaces around a name do not "
                "count)"
            )
        if matches:
            return matches[0]
        lower = {name.lower(): name for name in reversed([*places])}
        close = [lower[name] for name in get_close_matches(member.lower(), lower, n=3)]
        hint = f"did you mean {', '.join(close)}?" if close else _listed([*places])
        raise ViewError(f"view {view!r} names the unknown feature {member!r}; {hint}")
    if isinstance(member, bool) or not isinstance(member, int | np.integer):
        raise ViewError(
            f"view {view!r} names {member!r}; expected the name of a feature or the index "
            "of a column"
        )
    index = int(member)
    if not 0 <= index < width:
        raise ViewError(
            f"view {view!r} names column {index}; the data have columns 0 to {width - 1}"
        )
    return index
