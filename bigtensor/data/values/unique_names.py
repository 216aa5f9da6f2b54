"""Names of features and columns made unique."""

from collections.abc import Sequence

ANNDATA_INDEX = "_index"
"""Name of the index of obs and var of AnnData, which no column can have."""


def unique_names(names: "list[str] | tuple[str, ...]") -> list[str]:
    """Make names unique by numbering repetitions: ``a``, ``a_2``, ``a_3``.

    Spaces around a name are not part of it: headers of tables often have them behind the commas.
    """
    names = [name.strip(" ") for name in names]
    taken = set(names)
    used: set[str] = set()
    result = []
    for name in names:
        new, number = name, 2
        while new in used or (new != name and new in taken):
            new, number = f"{name}_{number}", number + 1
        used.add(new)
        result.append(new)
    return result


def anndata_column_names(names: Sequence[str], reserved: Sequence[str] = ()) -> list[str]:
    """Return different names that columns of obs and var of AnnData may have.

    Files of AnnData have no slashes in names, so that ``drug/dose`` becomes ``drug_dose``.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    reserved : sequence of str
        Names of other columns. A column of such a name, or of the index, gets a number.
    """
    taken = [ANNDATA_INDEX, *reserved]
    allowed = [name.replace("/", "_") for name in names]
    # HDF5 takes a point for the table itself
    allowed = ["unnamed" if name in ("", ".") else name for name in allowed]
    return unique_names([*taken, *allowed])[len(taken) :]
