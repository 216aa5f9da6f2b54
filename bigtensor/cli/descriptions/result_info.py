"""Descriptions of stores of answers and of statistics for ``bigtensor info``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from bigtensor.cli.descriptions.sample_info import category_lines, variable_facts
from bigtensor.cli.output import one_line

if TYPE_CHECKING:
    import zarr


def statistics_facts(path: str) -> dict[str, Any]:
    """Return the facts of the sums of a pass.

    Parameters
    ----------
    path : str
        Path or URL of the stored statistics.

    Returns
    -------
    dict
        Sizes are bytes.
    """
    from bigtensor.models.contract.statistics_file import read_statistics

    statistics = read_statistics(path)
    return {
        "kind": "statistics",
        "model": statistics.model,
        "pass": statistics.pass_name,
        "rows": statistics.rows,
        "preparation": statistics.preparation,
        "mixture": statistics.mixture,
        "arrays": len(statistics.state),
        "nbytes": sum(array.nbytes for array in statistics.state.values()),
        "parts": [asdict(part) for part in statistics.parts],
    }


def statistics_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe the sums of a pass in words."""
    mixture = f", mixture {facts['mixture'][:8]}" if facts["mixture"] else ""
    yield (
        f"statistics {facts['path']}: {facts['pass']} of {facts['rows']:,} rows for a "
        f"{facts['model']}"
    )
    yield f"made with  preparation {facts['preparation'][:8]}{mixture}"
    yield f"sums       {facts['arrays']} arrays, {facts['nbytes']:,} bytes"
    yield "parts"
    for part in facts["parts"]:
        left_out = f", {part['rows_left_out']:,} left out" if part["rows_left_out"] else ""
        yield f"  {part['rows']:>14,} rows{left_out}, bigtensor {part['version']}: {part['data']}"


def answer_facts(path: str, group: zarr.Group) -> dict[str, Any]:
    """Return the facts of a store of answers.

    Parameters
    ----------
    path : str
        Path or URL of the store, for messages and to read labels.
    group : zarr.Group
        The opened store.

    Returns
    -------
    dict
        ``kind`` is ``"labels"`` where there are any, with ``counts``, the rows of every label, and
        the ``names`` of labels; -1 stands for rows that were left out. ``categories`` are the names
        of the codes of every feature, of answers that are codes of the fit, and else None.

    Raises
    ------
    StoreReadError
        When it has no array of answers.
    """
    from bigtensor.cli.stored_labels import label_counts, stored_names
    from bigtensor.data.values.categories import categories_of_answer
    from bigtensor.errors import StoreReadError

    arrays = dict(sorted(group.arrays()))
    if not arrays or ("label" in group and "label" not in arrays):
        raise StoreReadError(
            f"the answers of {path} are no arrays, so its metadata are damaged; write the answers "
            "again or restore the store from a copy"
        )
    labels = "label" in arrays
    categories = {
        feature: list(names)
        for array in arrays.values()
        for feature, names in categories_of_answer(array.attrs).items()
    }
    return {
        "kind": "labels" if labels else "answers",
        "model": group.attrs["model"],
        "rows": (arrays["label"] if labels else next(iter(arrays.values()))).shape[0],
        "variables": [variable_facts(name, array) for name, array in arrays.items()],
        "categories": categories or None,
        **({"counts": label_counts(path), "names": list(stored_names(path))} if labels else {}),
    }


def answer_lines(facts: Mapping[str, Any]) -> Iterator[str]:
    """Describe a store of answers in words."""
    yield f"{facts['kind']:<10} {facts['path']}: {facts['rows']:,} rows, by a {facts['model']}"
    for variable in facts["variables"]:
        yield f"  {variable['name']:<20} ({', '.join(variable['dimensions'])}) {variable['dtype']}"
    if facts["categories"] is not None:
        yield from category_lines(facts["categories"])
    if "counts" in facts:
        yield "counts"
        names = dict(enumerate(facts["names"]))
        for label, count in facts["counts"].items():
            name = "left out" if label < 0 else one_line(names.get(label, str(label)))
            yield f"  {name:<20} {count:>14,}"
