"""Import job: open files to one Zarr store."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from bigtensor.array_types import FloatArray, IntArray
from bigtensor.data.addresses.store_address import Address
from bigtensor.data.addresses.store_files import StoreFiles
from bigtensor.data.importers.channels.channel_names import ChannelRole
from bigtensor.data.importers.csv_text import bare_name
from bigtensor.data.importers.features import ResolvedFeatures
from bigtensor.data.importers.imported_rows import ImportedRows
from bigtensor.data.importers.matching import note_on_features_in_some
from bigtensor.data.importers.rounded_integers import RoundedIntegers
from bigtensor.data.importers.sequence_ids import SequenceIds
from bigtensor.data.importers.source import Categories, ImportBlock, ImportSource, row_weights
from bigtensor.data.rows.row_shares import RowShares
from bigtensor.data.stores.layout import (
    FCS_DATASET,
    MATRIX,
    SOURCE_ROW,
    SampleStoreWriter,
    chunk_rows,
)
from bigtensor.data.values.feature_roles import COORDINATE
from bigtensor.data.values.import_record import (
    COMPENSATION,
    EARLIER_IMPORT,
    TRANSFORM,
    UNCOMPENSATED,
)
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.spreadsheet_cells import text_is_number
from bigtensor.errors import (
    DataError,
    FileFormatWarning,
    Message,
    MissingValueWarning,
    Setting,
    TransformWarning,
    warn,
)
from bigtensor.missing_codes import codes_in_words, missing_codes

IN_SOME = "not_in_all_files"
"""Attribute of a store with the files that have a feature which others lack, by the feature."""


@dataclass(frozen=True)
class ImportSummary:
    """Result of an import.

    Parameters
    ----------
    path : Path or str
        The store.
    rows : int
        Number of rows.
    features : tuple of str
        Names of the features.
    files : tuple of str
        Name of every file, in the order of the rows.
    transform : mapping
        Name and parameters of the transform, and the features that stayed linear.
    spillover : mapping
        Spillover matrices that were removed, under ``compensation``, and the channels and files of
        matrices that were not removed, under ``uncompensated``.
    warnings : tuple of str
        What was repaired or left out, a sentence each.
    bytes : int
        Size of the store on disk.
    roles : tuple of ChannelRole, optional
        Role of every feature. None for files without roles.
    shares : RowShares, optional
        Numbers of rows that meet the condition of the import. None without one.
    replaced : mapping of str to int
        Number of entries of features that were replaced by missing ones, by the code of missing
        values. Texts in columns of numbers are replaced and not counted.
    """

    path: Address
    rows: int
    features: tuple[str, ...]
    files: tuple[str, ...]
    transform: Mapping[str, Any]
    spillover: Mapping[str, Any]
    warnings: tuple[str, ...]
    bytes: int
    roles: tuple[ChannelRole, ...] | None = None
    shares: RowShares | None = None
    replaced: Mapping[str, int] = field(default_factory=dict)

    @property
    def left_out(self) -> dict[str, tuple[str, ...]]:
        """Features that a fit does not use by default, by the reason."""
        reasons: dict[str, str] = {}
        # a fit uses all features if no marker would be left, or one alone on the common scale
        least = 1
        if self.roles is not None:
            roles = zip(self.features, self.roles, strict=True)
            reasons = {name: role.reason or role.role for name, role in roles if role.role != "use"}
        elif self.transform["name"] != "none":
            reasons, least = dict.fromkeys(self.transform["untransformed"], "linear"), 2
        if len(self.features) - len(reasons) < least:
            return {}
        names: dict[str, tuple[str, ...]] = {}
        for name, reason in reasons.items():
            names[reason] = (*names.get(reason, ()), name)
        return names

    @property
    def used(self) -> tuple[str, ...]:
        """Features that a fit uses by default."""
        left_out = {name for names in self.left_out.values() for name in names}
        return tuple(name for name in self.features if name not in left_out)


@dataclass(frozen=True)
class ImportJob:
    """Files with matching features, and the treatment of their values.

    Parameters
    ----------
    sources : sequence of ImportSource
        The opened files.
    names : sequence of str
        A name for each file, unique.
    features : tuple of str
        The features of the store.
    columns : sequence of list of int
        For each file the columns that hold them.
    treatment : ResolvedFeatures
        Roles, transform, and features that stay as they are.
    label_names : tuple of str or None
        Names of the codes, if labels arrive as codes; else their names arrive.
    has_label : bool
        True if the files hold labels.
    codes : bool
        The values are names of categories, which are coded.
    where : str, optional
        Condition that rows have to meet. None keeps all rows.
    kept : mapping of str to str or None
        Columns of the files by the variables of the rows that they are kept as.
    note : str, default ""
        Note on the files together, which is a warning too.
    in_some : mapping of str to list of str
        Files that have a feature which others lack, by the feature. It is not imported.
    """

    sources: Sequence[ImportSource]
    names: Sequence[str]
    features: tuple[str, ...]
    columns: Sequence[list[int]]
    treatment: ResolvedFeatures
    label_names: tuple[str, ...] | None
    has_label: bool
    codes: bool = False
    where: str | None = None
    kept: Mapping[str, str | None] = field(default_factory=dict)
    note: str = ""
    in_some: Mapping[str, list[str]] = field(default_factory=dict)

    @property
    def has_sequence(self) -> bool:
        """True if the files hold ids of sequences."""
        return self.kept.get("sequence") is not None

    @property
    def has_weight(self) -> bool:
        """True if the files hold weights of rows."""
        return self.kept.get("weight") is not None

    def run(
        self,
        out: Address,
        *,
        dtype: DTypeLike,
        keep_raw: bool,
        overwrite: bool,
        progress: RowProgress | None,
    ) -> ImportSummary:
        """Write the store.

        Parameters
        ----------
        out : Path or str
            The store to make.
        dtype : {"float32", "float64"}
            Type of the stored values.
        keep_raw : bool
            If True, the measured values are stored too.
        overwrite : bool
            If True, an existing store may be replaced.
        progress : callable or None
            Called with the rows done and all rows after each block.
        """
        chosen = self._chosen_rows(dtype)
        total = self._total_rows()
        coded = _RowCodes(self, SequenceIds(several_files=len(self.sources) > 1))
        feature_categories = self._ordered_categories()
        rounded = RoundedIntegers(self.features, dtype)
        done, rows_by_name, replaced = 0, dict.fromkeys(self.names, 0), Counter[str]()
        with SampleStoreWriter(
            out,
            self.features,
            dtype="int32" if self.codes else dtype,
            rows=total if chosen is None else None,
            feature_coordinates=self._coordinates(),
            row_variables=self._row_variables(),
            keep_raw=keep_raw,
            attrs=self._attrs(),
            overwrite=overwrite,
        ) as store:
            for name, columns, block in self._blocks():
                codes = coded.encode(block, name, rows_by_name[name])
                raw = _columns(block.raw, columns) if keep_raw else None
                values = self._values(block, columns, feature_categories)
                if not self.codes:
                    for matrix in (values, *([] if raw is None else [raw])):
                        self._check_range(name, matrix, dtype, rows_by_name[name])
                    rounded.record(name, values, rows_by_name[name])
                rows_by_name[name] += len(values)
                replaced.update(block.replaced)
                if chosen is not None:
                    names = {**self._feature_names(feature_categories), **coded.names()}
                    kept = chosen.kept(values, codes, names)
                    values, raw, codes = _rows_at(kept, done, values, raw, codes)
                store.append(values, raw=raw, **codes)
                done += len(block.values)
                if progress is not None:
                    progress(done, total)
            self._set_names(store, coded.names(), feature_categories)
            self._require_rows(done, chosen)
        return ImportSummary(
            path=out,
            rows=done if chosen is None else chosen.shares.kept,
            features=self.features,
            files=tuple(self.names),
            transform=self._transform_record(),
            spillover=self._spillover(),
            warnings=(*self._notes(rounded, feature_categories, rows_by_name), *_absent(replaced)),
            bytes=sum(int(info["size"]) for _, info in StoreFiles(out).infos("")),
            roles=self.treatment.roles,
            shares=None if chosen is None else chosen.shares,
            replaced=dict(replaced),
        )

    def _ordered_categories(self) -> list[Categories]:
        """Return the categories of every feature whose order the files know."""
        return [
            Categories(chain(*(source.category_order.get(name, ()) for source in self.sources)))
            for name in self.features
        ]

    @property
    def _used(self) -> frozenset[str]:
        """Features that have the role "use", or no role."""
        roles = self.treatment.roles
        if roles is None:
            return frozenset(self.features)
        pairs = zip(self.features, roles, strict=True)
        return frozenset(name for name, role in pairs if role.role == "use")

    def _notes(
        self,
        rounded: RoundedIntegers,
        categories: Sequence[Categories],
        rows_by_name: Mapping[str, int],
    ) -> tuple[str, ...]:
        """Return the notes of the files, and notes on values, which are warnings too."""
        notes = [f"{s.path.name}: {note}" for s in self.sources for note in s.notes]
        empty = [name for name, rows in rows_by_name.items() if not rows]
        without_rows = f"files without rows: {', '.join(empty)}" if empty else ""
        repeated = _repeated_markers(self.sources, self._used)
        in_some = note_on_features_in_some(self.in_some)
        for note in (in_some, repeated, self.note, rounded.note(), without_rows):
            if note:
                warn(note, FileFormatWarning)
                notes.append(note)
        if missing := _missing_codes_note(self._feature_names(categories)):
            warn(missing, MissingValueWarning)
            notes.append(missing)
        if note := self.treatment.note:
            warn(note, TransformWarning)
            notes.append(note)
        return tuple(notes)

    def _set_names(
        self,
        store: SampleStoreWriter,
        names: Mapping[str, Sequence[str]],
        feature_categories: Sequence[Categories],
    ) -> None:
        """Name the codes of variables and features."""
        for name, category_names in names.items():
            store.set_categories(name, category_names)
        if self.codes:
            store.set_feature_categories(self._feature_names(feature_categories))

    def _feature_names(self, categories: Sequence[Categories]) -> dict[str, Sequence[str]]:
        """Return the names of the codes of every feature; none for measured values."""
        if not self.codes:
            return {}
        return {name: entry.names for name, entry in zip(self.features, categories, strict=True)}

    def _chosen_rows(self, dtype: DTypeLike) -> ImportedRows | None:
        """Return the rows that meet the condition; None for all rows."""
        if self.where is None:
            return None
        renamed = {column: name for name, column in self.kept.items() if column}
        return ImportedRows(self.where, self.features, dtype, renamed)

    def _row_variables(self) -> dict[str, DTypeLike]:
        """Return the types of the variables along the samples."""
        variables: dict[str, DTypeLike] = {"sample_id": "int32"}
        if self.where is not None:
            variables[SOURCE_ROW] = "int64"
        if self.has_label:
            variables["label"] = "int32"
        if self.has_sequence:
            variables["sequence"] = "int64"
        if self.has_weight:
            variables["weight"] = "float64"
        return variables

    def _coordinates(self) -> dict[str, list[str]]:
        """Return the alternative names of the features in the first file, and their roles."""
        coordinates = {
            name: [values[column] for column in self.columns[0]]
            for name, values in self.sources[0].coordinates.items()
        }
        if self.treatment.roles is not None:
            coordinates[COORDINATE] = [role.role for role in self.treatment.roles]
        return coordinates

    def _transform_record(self) -> dict[str, Any]:
        """Return the record of the transform, from which other values can be transformed."""
        return {
            **self.treatment.transform.parameters(),
            "untransformed": list(self.treatment.linear),
        }

    def _attrs(self) -> dict[str, Any]:
        """Return the attributes of the store."""
        attrs = self.sources[0].attrs
        recorded = {name: attrs[name] for name in (FCS_DATASET, MATRIX) if attrs.get(name)}
        return {
            "software": "bigtensor",
            "source_files": [source.path.name for source in self.sources],
            TRANSFORM: self._transform_record(),
            **self._spillover(),
            **recorded,
            **({IN_SOME: dict(self.in_some)} if self.in_some else {}),
        }

    def _require_rows(self, done: int, chosen: ImportedRows | None) -> None:
        """Raise an error if the files have no rows, or none that meets the condition."""
        if not done:
            files = ", ".join(str(source.path) for source in self.sources)
            raise DataError(f"no rows are in {files}; give files with rows")
        if chosen is not None:
            chosen.require_some()

    def _total_rows(self) -> int | None:
        """Return the number of all rows, None if a file does not know its own."""
        total = 0
        for source in self.sources:
            if source.rows is None:
                return None
            total += source.rows
        return total

    def _blocks(self) -> Iterator[tuple[str, list[int], ImportBlock]]:
        """Yield the blocks of all files."""
        for source, name, columns in zip(self.sources, self.names, self.columns, strict=True):
            # Sized by all columns of the file: they are read even where few are kept.
            for block in source.blocks(chunk_rows(len(source.features), 8)):
                yield name, columns, block

    def _values(
        self, block: ImportBlock, columns: list[int], categories: Sequence[Categories]
    ) -> NDArray[Any]:
        """Return the values of the features, transformed, or the codes of their categories."""
        if self.codes:
            return _encoded(block.values[:, columns], categories)
        values = _columns(block.values, columns)
        changed = [j for j, name in enumerate(self.features) if name not in self.treatment.linear]
        values[:, changed] = self.treatment.transform(values[:, changed])
        return values

    def _check_range(self, name: str, values: FloatArray, dtype: DTypeLike, first: int) -> None:
        """Raise a DataError for numbers that overflow in the type of the store.

        Rows are counted from ``first``, that of the block in its file.
        """
        most = float(np.finfo(np.dtype(dtype)).max)
        too_large = np.isfinite(values) & (np.abs(values) > most)
        if too_large.any():
            row, column = (int(place) for place in np.argwhere(too_large)[0])
            raise DataError(
                f"{name}: row {first + row} (from 0) of {self.features[column]!r} holds "
                f"{values[row, column]:g}, which is infinite as {np.dtype(dtype)}; mend the "
                "number, or import with " + Setting("dtype", "float64")
            )

    def _spillover(self) -> dict[str, Any]:
        """Return the spillover matrices that were removed, and the channels of those that were not.

        Without matrices, the files may be compensated already.
        """
        earlier = [source.attrs.get(EARLIER_IMPORT, {}) for source in self.sources]
        if any(earlier):
            # of all files: what one of them lacks is not known of the rows
            return {
                name: earlier[0][name]
                for name in (COMPENSATION, UNCOMPENSATED)
                if all(name in record for record in earlier)
            }
        left = [source for source in self.sources if UNCOMPENSATED in source.attrs]
        channels = dict.fromkeys(name for source in left for name in source.attrs[UNCOMPENSATED])
        files = [source.path.name for source in left]
        return {
            COMPENSATION: self._compensations(),
            **({UNCOMPENSATED: {"channels": [*channels], "files": files}} if left else {}),
        }

    def _compensations(self) -> list[dict[str, Any]]:
        """Return the spillover matrices that were removed, each once, with its files."""
        compensations: list[dict[str, Any]] = []
        for source in self.sources:
            if COMPENSATION not in source.attrs:
                continue
            matrix = source.attrs[COMPENSATION]
            for entry in compensations:
                if entry["spillover"] == matrix:
                    entry["files"].append(source.path.name)
                    break
            else:
                compensations.append({"spillover": matrix, "files": [source.path.name]})
        return compensations


@dataclass(frozen=True, eq=False)
class _RowCodes:
    """Codes of the variables along the rows of an import, and their names so far."""

    job: ImportJob
    sequences: SequenceIds
    samples: Categories = field(default_factory=Categories)
    labels: Categories = field(default_factory=Categories)

    def encode(self, block: ImportBlock, file: str, first: int) -> dict[str, NDArray[Any]]:
        """Return the codes of a block of a file, which begins with row ``first``."""
        rows, job = len(block.values), self.job
        identity = block.variables.get("sample_id", np.array([file], dtype=object))
        codes: dict[str, NDArray[Any]] = {
            "sample_id": _broadcast(self.samples.encode(identity), rows)
        }
        if job.has_label:
            label = block.variables["label"]
            codes["label"] = self.labels.encode(label) if job.label_names is None else label
        if job.has_sequence:
            ids = block.variables["sequence"]
            codes["sequence"] = self.sequences.encode(ids, file, first)
        if job.has_weight:
            codes["weight"] = row_weights(block.variables["weight"], file, first)
        return codes

    def names(self) -> dict[str, Sequence[str]]:
        """Return the names of the codes of every variable that has some."""
        names: dict[str, Sequence[str]] = {"sample_id": self.samples.names}
        if self.job.has_label:
            label_names = self.job.label_names
            names["label"] = self.labels.names if label_names is None else label_names
        if self.sequences.names is not None:
            names["sequence"] = self.sequences.names
        return names


def sample_names(files: Sequence[Path]) -> tuple[str, ...]:
    """Return a name for each file: its stem, or its whole path where stems repeat.

    Parameters
    ----------
    files : sequence of Path
        Different files.
    """
    stems = [bare_name(path).stem for path in files]
    return tuple(
        stem if stems.count(stem) == 1 else str(path)
        for stem, path in zip(stems, files, strict=True)
    )


def _columns(values: NDArray[np.floating], columns: list[int]) -> FloatArray:
    """Return some columns as a copy."""
    return values[:, columns].astype(np.float64)


def _rows_at(
    kept: IntArray,
    first: int,
    values: NDArray[Any],
    raw: NDArray[Any] | None,
    codes: Mapping[str, NDArray[Any]],
) -> tuple[NDArray[Any], NDArray[Any] | None, dict[str, NDArray[Any]]]:
    """Return the kept rows of a block, which begins with row ``first`` of all files."""
    variables = {name: entries[kept] for name, entries in codes.items()}
    variables[SOURCE_ROW] = first + kept
    return values[kept], None if raw is None else raw[kept], variables


def _encoded(names: NDArray[Any], categories: Sequence[Categories]) -> NDArray[np.int32]:
    """Return the codes of a matrix of names, with separate categories for every feature."""
    return np.column_stack(
        [feature_categories.encode(names[:, j]) for j, feature_categories in enumerate(categories)]
    )


def _broadcast(codes: NDArray[np.int32], rows: int) -> NDArray[np.int32]:
    """Return one code per row, repeated where a file has one code for all rows."""
    return np.broadcast_to(codes, rows)


def _repeated_markers(sources: Sequence[ImportSource], used: Collection[str]) -> Message:
    """Return a note on used features named after channels because channels have one marker."""
    named: dict[str, dict[str, None]] = {}
    for source in sources:
        markers = source.coordinates.get("marker", ())
        for feature, marker in zip(source.features, markers, strict=bool(markers)):
            if feature in used and marker not in ("", feature) and markers.count(marker) > 1:
                named.setdefault(marker, {})[feature] = None
    listed = "; ".join(f"{marker}: {', '.join(features)}" for marker, features in named.items())
    if not listed:
        return Message("")
    return (
        "several channels have the same marker ($PnS), so that features have the names of the "
        f"channels ({listed}); name them by " + Setting("panel", "PANEL.csv")
    )


def _absent(replaced: Mapping[str, int]) -> list[Message]:
    """Return, and warn of, a note on codes of missing values that no feature holds."""
    absent = [value for value, count in replaced.items() if not count]
    if not absent:
        return []
    note = (
        f"no feature holds {', '.join(absent)}, so nothing was replaced for "
        + Setting("missing_values")
        + "; write the code as in the files"
    )
    warn(note, MissingValueWarning)
    return [note]


def _missing_codes_note(categories: Mapping[str, Sequence[str]]) -> Message | None:
    """Return a sentence on categories that look like codes of missing values, None without any.

    Parameters
    ----------
    categories : mapping of str to sequence of str
        Names of the categories of every feature. Names that are no numbers are not judged.
    """
    codes = {
        feature: of_feature
        for feature, names in categories.items()
        if all(map(text_is_number, names))
        and (of_feature := missing_codes(sorted({float(name) for name in names})))
    }
    if not codes:
        return None
    (feature, of_feature), others = next(iter(codes.items())), len(codes) - 1
    values, at_import = codes_in_words(of_feature)
    also = f" ({others:,} more features hold such codes, too)" if others else ""
    one = len(of_feature) == 1
    return Message(
        f"feature {feature!r} holds {values}, far from all other codes{also}: probably "
        f"{'a code' if one else 'codes'} of missing values, which the store keeps as "
        f"{'a category' if one else 'categories'}; import with {at_import} to make "
        f"{'it a missing value' if one else 'them missing values'}"
    )
