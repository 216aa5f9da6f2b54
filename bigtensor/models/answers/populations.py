"""Populations: groups of components that labels stand for, with the names that users give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from bigtensor.decomposition.merging.merge_tree import MergeTree
from bigtensor.errors import ParameterError, Setting

PopulationKey: TypeAlias = int | str
"""Number or present name of a population."""


@dataclass(frozen=True, eq=False)
class Populations:
    """Groups of components, how they were formed, and their names.

    A name belongs to a set of components.

    Attributes
    ----------
    tree : MergeTree, optional
        Merges of components, from the first to the last. None if components were not merged by a
        criterion.
    of_component : (k,) integer array
        The population of every component. After a cut or a merge, populations are numbered by
        descending weight.
    weights : (populations,) float64 array
        Sums of the weights of the components.
    temperature : float, default 1.0
        Posterior probabilities of populations are raised to its reciprocal, and scaled.
    names : tuple of str, default ()
        A name for every population, empty for a population without one. An empty tuple stands for
        no names at all.
    by_hand : bool, default False
        True if a user named, cut or merged the populations. Later rounds of a fit then keep them.
    whole : (populations,) integer array, optional
        Parts of one population, which a refinement divided, have the same number. The temperature
        is that of the whole, and the probabilities of its parts add up to its probability. None if
        no population was divided.
    """

    tree: MergeTree | None
    of_component: NDArray[np.intp]
    weights: NDArray[np.float64]
    temperature: float = 1.0
    names: tuple[str, ...] = ()
    by_hand: bool = False
    whole: NDArray[np.intp] | None = None

    @classmethod
    def cut(
        cls, tree: MergeTree, n_populations: int | str, temperature: float = 1.0
    ) -> Populations:
        """Cut the tree.

        Raises
        ------
        ParameterError
            When there are fewer components than populations are wanted.
        """
        if not isinstance(n_populations, str) and n_populations > tree.n_components:
            raise ParameterError(
                Setting("n_populations")
                + f" is {n_populations}, but there are {tree.n_components} components to merge; "
                "use fewer populations or more components"
            )
        count = tree.cut_automatically() if isinstance(n_populations, str) else n_populations
        of_component = tree.cut(count)
        weights = np.bincount(of_component, weights=tree.weights, minlength=count)
        return cls(tree, of_component, weights / weights.sum(), temperature)

    @classmethod
    def of_components(
        cls, weights: NDArray[np.float64], labels: Iterable[object] = ()
    ) -> Populations:
        """Return every component as a population of its own, in the order of the components."""
        return cls(
            None, np.arange(len(weights)), weights / weights.sum(), names=tuple(map(str, labels))
        )

    @property
    def count(self) -> int:
        """Number of populations."""
        return len(self.weights)

    @property
    def stability(self) -> NDArray[np.float64] | None:
        """Stability of every population over fits of halves of the rows, NaN where it is not known.

        None if no halves were compared.
        """
        if self.tree is None or self.tree.stability is None:
            return None
        nodes = self.tree.nodes_of(self.of_component)
        return np.where(nodes >= 0, self.tree.stability[nodes], np.nan)

    @property
    def shown_names(self) -> tuple[str, ...]:
        """A name for every population: its number if it has no name."""
        names = self.names or ("",) * self.count
        return tuple(name or str(number) for number, name in enumerate(names))

    @property
    def members(self) -> tuple[tuple[int, ...], ...]:
        """Components of every population."""
        return tuple(
            tuple(np.flatnonzero(self.of_component == number).tolist())
            for number in range(self.count)
        )

    def number_of(self, key: PopulationKey) -> int:
        """Return the number of a population.

        Parameters
        ----------
        key : int or str
            Number, or present name. A population without a name has its number as its name.

        Raises
        ------
        ParameterError
            When there is no such population.
        """
        if isinstance(key, str) and key.strip() in self.shown_names:
            return self.shown_names.index(key.strip())
        if isinstance(key, int | np.integer) and not isinstance(key, bool):
            number = int(key)
            if 0 <= number < self.count:
                return number
        names = ", ".join(repr(name) for name in self.names if name)
        near = get_close_matches(str(key), self.names, 1)
        raise ParameterError(
            f"there is no population {key!r}; "
            + (f"did you mean {near[0]!r}? Otherwise " if near else "")
            + f"use a number from 0 to {self.count - 1}"
            + (f" or one of the names {names}" if names else "")
        )

    def renamed(self, names: Mapping[PopulationKey, str | None]) -> Populations:
        """Return the populations with other names.

        Parameters
        ----------
        names : mapping of int or str to str or None
            New name by number or present name. None removes a name.

        Raises
        ------
        ParameterError
            When there is no such population, a name is empty or a whole number other than the
            number of its population, or two populations have one name.
        """
        new = list(self.names or ("",) * self.count)
        renamed = set[int]()
        for key, name in names.items():
            number = self.number_of(key)
            if number in renamed:
                raise ParameterError(f"population {number} has two new names; give it one")
            renamed.add(number)
            # classes may have numbers as names, and a table of all names repeats them
            if name != self.shown_names[number]:
                new[number] = "" if name is None else _checked_name(number, name)
        populations = replace(self, names=tuple(new), by_hand=True)
        shown = populations.shown_names
        repeated = sorted({name for name in shown if shown.count(name) > 1})
        if repeated:
            numbers = [number for number, name in enumerate(shown) if name == repeated[0]]
            raise ParameterError(
                f"populations {', '.join(map(str, numbers))} have the same name {repeated[0]!r}; "
                "give different names, or merge the populations first"
            )
        return populations

    def recut(self, n_populations: int | str) -> Populations:
        """Return another cut of the tree. Names of populations that stay the same set are kept.

        Parameters
        ----------
        n_populations : int or "auto"
            Number of populations, or ``"auto"`` for the number that the tree suggests.
        """
        assert self.tree is not None
        cut = Populations.cut(self.tree, n_populations, self.temperature)
        return cut.with_names_of(self)

    def with_names_of(self, other: Populations) -> Populations:
        """Return these populations with the names of equal sets of components of others."""
        named = dict(zip(other.members, other.names, strict=False))
        names = tuple(named.get(members, "") for members in self.members)
        return replace(self, names=names if any(names) else (), by_hand=True)

    def merged(self, groups: Sequence[Sequence[PopulationKey]]) -> Populations:
        """Return the populations with every group made one.

        If exactly one population of a group has a name, the merged population keeps the name.

        Parameters
        ----------
        groups : sequence of sequences of int or str
            Numbers or present names of the populations of every group.

        Raises
        ------
        ParameterError
            When there is no such population, it is in two groups, or a group has fewer than two.
        """
        target = np.arange(self.count)
        used = set[int]()
        for group in groups:
            numbers = [self.number_of(key) for key in group]
            if len({*numbers}) < 2:
                raise ParameterError(
                    f"the group {list(group)} has fewer than two populations; name at least two to "
                    "merge"
                )
            twice = sorted(used & {*numbers})
            if twice:
                raise ParameterError(
                    f"population {twice[0]} is in two groups; put all of them into one group"
                )
            used |= {*numbers}
            target[numbers] = min(numbers)
        return self._grouped(target)

    def divided(
        self,
        number: int,
        components: NDArray[np.intp],
        shares: NDArray[np.float64],
        part: float,
    ) -> Populations:
        """Return the populations with a second part of one population as a population of its own.

        The second parts of components are components after the others. Populations are numbered by
        descending weight again.

        Parameters
        ----------
        number : int
            Number of the population.
        components : (m,) integer array
            Components of the population that are divided.
        shares : (m,) float64 array
            Share of the second part in its component.
        part : float
            Weight of the second part, smaller than the weight of the population.
        """
        whole = np.arange(self.count) if self.whole is None else self.whole
        weights = np.append(self.weights, part)
        weights[number] -= part
        populations = replace(
            self,
            tree=None if self.tree is None else self.tree.divided(components, shares),
            of_component=np.append(self.of_component, np.full(len(components), self.count)),
            weights=weights,
            names=(*(self.names or ("",) * self.count), ""),
            whole=np.append(whole, whole[number]),
        )
        return populations._grouped(np.arange(populations.count))

    def reordered(self, order: NDArray[np.intp]) -> Populations:
        """Return the populations of the components in another order.

        Parameters
        ----------
        order : (k,) integer array
            Present numbers of the components, in the new order.
        """
        tree = None if self.tree is None else self.tree.reordered(order)
        return replace(self, tree=tree, of_component=self.of_component[order])

    def _grouped(self, target: NDArray[np.intp]) -> Populations:
        """Return unions of populations with the same target, numbered by descending weight."""
        kept, new = np.unique(target, return_inverse=True)
        weights = np.bincount(new, weights=self.weights).astype(np.float64)
        of_component = new[self.of_component]
        first = np.array([int(np.argmax(of_component == number)) for number in range(len(kept))])
        # equal weights are ordered as in a cut of the tree
        order = np.lexsort((first, -weights))
        rank = np.argsort(order)
        names = [
            {name for name, place in zip(self.names, new, strict=False) if name and place == number}
            for number in order
        ]
        single = tuple(next(iter(one)) if len(one) == 1 else "" for one in names)
        return replace(
            self,
            of_component=rank[of_component],
            weights=weights[order],
            names=single if any(single) else (),
            by_hand=True,
            whole=None if self.whole is None else _united(self.whole, new, order),
        )


def _united(
    whole: NDArray[np.intp], group: NDArray[np.intp], order: NDArray[np.intp]
) -> NDArray[np.intp]:
    """Return the whole of every group, in an order. Wholes with parts in one group become one."""
    united = whole.copy()
    for number in range(int(group.max()) + 1):
        own = united[group == number]
        united[np.isin(united, own)] = own.min()
    _, first = np.unique(group, return_index=True)
    return np.unique(united[first][order], return_inverse=True)[1]


def _checked_name(number: int, name: object) -> str:
    """Return a name without blanks around it, or raise a ParameterError.

    The name is empty if it is the number of the population.
    """
    if not isinstance(name, str) or not name.strip():
        raise ParameterError(
            f"the name of population {number} is {name!r}; expected text that is not empty"
        )
    if name.strip() == str(number):
        # a population without a name is shown with its number
        return ""
    if name.strip().isdecimal():
        raise ParameterError(
            f"the name of population {number} is {name!r}, but a whole number stands for the "
            f"population with that number; add a word, such as 'cluster {name.strip()}'"
        )
    if not name.strip().isprintable():
        raise ParameterError(
            f"the name of population {number}, {name!r}, has line breaks or control characters; "
            "leave them out"
        )
    return name.strip()
