"""Search for a number of components or states."""

import pytest

from bigtensor.models.pilot.number_search import NumberSearch


@pytest.mark.parametrize(
    ("means", "ended"),
    [([], False), ([1], False), ([1, 0], False), ([1, 0, 0], True), ([1, 0, 2], False)],
)
def test_search__ends_after_numbers_that_are_no_better(means: list[float], ended: bool) -> None:
    assert NumberSearch(2, means).ended == ended


def test_fewest__is_the_first_that_loses_at_most_its_error() -> None:
    search = NumberSearch(2, [0.0, 2.0, 2.5, 3.0, 2.9])
    assert search.fewest_as_good(lambda place: (3.0 - search.means[place], 1.0)) == 1
    assert search.fewest_as_good(lambda place: (3.0 - search.means[place], 0.1)) == search.best == 3
