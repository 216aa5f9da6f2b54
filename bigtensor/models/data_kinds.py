"""Declaration of the data that a model takes."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from bigtensor.data.csr_source import is_sparse
from bigtensor.data.kinds import Kind
from bigtensor.data.samples import Samples
from bigtensor.errors import DataError

_NAMES: dict[Kind, str] = {
    "measured": "measured values (float32 or float64)",
    "codes": "codes of categories (integers)",
    "counts": "counts in sparse rows (CSR)",
}

_REMEDIES: dict[tuple[Kind, Kind], str] = {
    ("codes", "measured"): "convert with .astype('float32') if the numbers are measurements, and "
    "import files without --codes (codes=False)",
    ("measured", "codes"): "import files with --codes (codes=True), or convert whole numbers with "
    ".astype('int32')",
    ("counts", "measured"): "give dense rows, for example .toarray()",
    ("measured", "counts"): "give a sparse matrix in rows, for example scipy.sparse.csr_array(X)",
    ("codes", "counts"): "give a sparse matrix in rows, for example scipy.sparse.csr_array(X)",
    ("counts", "codes"): "import the tables of categories with --codes (codes=True)",
}
"""From the kind of the data to a kind that the model takes."""


@dataclass(frozen=True)
class Data:
    """Data that a model takes.

    Parameters
    ----------
    kinds : set of {"measured", "codes", "counts"}
    marginalises : bool, default False
        The model can leave missing codes out of a row, and use its other entries.
    dense_counts : bool, default False
        Dense numbers are counts too.
    """

    kinds: AbstractSet[Kind]
    marginalises: bool = False
    dense_counts: bool = False

    def check(self, samples: Samples, model: str) -> Samples:
        """Return the samples if the model takes them.

        Parameters
        ----------
        samples : Samples
        model : str
            Name of the model, for the message.

        Returns
        -------
        Samples
            Sparse rows of AnnData are read as dense ones, if the model takes no counts.

        Raises
        ------
        DataError
            When the kind of the data is another one, or codes have no categories.
        """
        kind = samples.kind
        if self.dense_counts and not _has_named_codes(samples):
            return replace(samples, code_map=None)
        if kind == "counts" and "counts" not in self.kinds and _may_be_dense(samples):
            samples = samples.as_dense()
            kind = samples.kind
        if kind not in self.kinds:
            taken = sorted(self.kinds)
            raise DataError(
                f"the values of {samples.describe()} are {samples.dtype}, {_NAMES[kind]}; {model} "
                f"takes {' or '.join(_NAMES[other] for other in taken)}: "
                + "; or ".join(_REMEDIES[kind, other] for other in taken)
            )
        if kind == "codes" and samples.categories is None:
            raise DataError(
                f"the integers of {samples.describe()} have no categories; name the codes of every "
                "feature in the attribute 'categories' of the values, or import with --codes "
                "(codes=True)"
            )
        return samples


def _has_named_codes(samples: Samples) -> bool:
    """Return True for codes whose categories have names, which plain integers do not have."""
    return any(
        names != tuple(map(str, range(len(names)))) for names in (samples.categories or {}).values()
    )


def _may_be_dense(samples: Samples) -> bool:
    """Return True for sparse rows that are read as dense ones where a model takes no others."""
    return all(is_sparse(source) and source.may_be_dense for source in samples.sources)
