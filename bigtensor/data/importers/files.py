"""Import of files of any known kind into one Zarr store of the package's layout."""

import os
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bigtensor.data.addresses.store_address import as_address, local_path
from bigtensor.data.importers.anndata import open_anndata, open_obs
from bigtensor.data.importers.counts.tenx_folder import is_tenx_folder
from bigtensor.data.importers.csv_and_parquet import open_csv, open_parquet
from bigtensor.data.importers.csv_text import bare_name
from bigtensor.data.importers.expansion import expand_paths, unreachable
from bigtensor.data.importers.fcs.events import Offsets, open_fcs
from bigtensor.data.importers.fcs.marker_channels import note_on_moved_markers
from bigtensor.data.importers.features import FeatureSettings, resolve_features, settings_of_store
from bigtensor.data.importers.job import ImportJob, ImportSummary, sample_names
from bigtensor.data.importers.matching import Channels, features_in_some, match_features
from bigtensor.data.importers.panel import Panel, as_panel, channels_of, with_panel
from bigtensor.data.importers.readable_files import for_every_file
from bigtensor.data.importers.scales import TransformName
from bigtensor.data.importers.source import ImportSource, name_of_value
from bigtensor.data.importers.transforms import Transform
from bigtensor.data.stores.outputs import check_target
from bigtensor.data.values.checked_casts import checked_cast
from bigtensor.data.values.row_progress import RowProgress
from bigtensor.data.values.unique_names import unique_names
from bigtensor.errors import DataError, FileFormatError, Message, ParameterError, Setting

__all__ = ["Format", "ImportSummary", "import_files"]

Format = Literal["fcs", "csv", "parquet", "anndata"]

_FORMATS: Mapping[str, Format] = {
    ".fcs": "fcs",
    ".lmd": "fcs",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5ad": "anndata",
    ".zarr": "anndata",
}
_READERS: Mapping[str, str] = {
    ".dta": "read_stata",
    ".sav": "read_spss",
    ".sas7bdat": "read_sas",
    ".feather": "read_feather",
    ".xlsx": "read_excel",
}
"""Functions of pandas that read other tables."""

_OF_COUNTS = "; sparse counts are imported by import_counts, or 'bigtensor import --counts'"
_CODES: Mapping[str, Callable[..., ImportSource]] = {
    "csv": partial(open_csv, codes=True),
    "parquet": partial(open_parquet, codes=True),
    "anndata": open_obs,
}
_OPENERS: Mapping[str, Callable[..., ImportSource]] = {
    "csv": open_csv,
    "parquet": open_parquet,
    "anndata": open_anndata,
}


def import_files(
    paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]",
    out: "str | os.PathLike[str]",
    *,
    format: Format | None = None,  # noqa: A002 - the name that pandas and others use for this
    compensate: bool = False,
    panel: "Panel | str | os.PathLike[str] | None" = None,
    transform: TransformName | Transform | None = None,
    cofactor: float | None = None,
    untransformed: Sequence[str] | None = None,
    like: "str | os.PathLike[str] | None" = None,
    offsets: Offsets | None = None,
    dataset: int = 0,
    channels: Channels = "same",
    label: str | None = None,
    sample_id: str | None = None,
    sequence: str | None = None,
    weight: str | None = None,
    exclude: str | Sequence[str] = (),
    missing_values: str | float | Sequence[str | float] = (),
    layer: str | None = None,
    obsm: str | None = None,
    labels: Mapping[str, ArrayLike] | None = None,
    label_names: Sequence[str] | None = None,
    codes: bool = False,
    dtype: DTypeLike = "float32",
    keep_raw: bool = False,
    where: str | None = None,
    overwrite: bool = False,
    progress: RowProgress | None = None,
) -> ImportSummary:
    """Import files into one Zarr store, row block by row block.

    Parameters
    ----------
    paths : path-like or iterable of path-like
        Files of one kind; their rows follow each other in this order. A folder stands for the
        files in it that have a known ending, a pattern such as ``day1/*.fcs`` for what matches it.
    out : path-like
        The store to make; it appears under this name when it is whole.
    format : {"fcs", "csv", "parquet", "anndata"}, optional
        The kind of the files; by default it follows from the end of their names.
    compensate : bool, default False
        FCS only: remove the spillover between dyes by the file's own matrix, before any transform.
    panel : Panel or path-like, optional
        Markers and roles of the channels, or the CSV file that holds them, see
        :class:`~bigtensor.data.importers.panel.Panel`. Features are named after the markers. Of
        tables and AnnData, channels are the features. Channels that the panel does not list keep
        their names and are not used. Without a panel, FCS files have roles by rule, see
        :func:`~bigtensor.data.importers.channels.channel_roles.channel_roles`.
    transform : {"arcsinh", "logicle", "none"} or Transform, optional
        By default "arcsinh" for FCS and "none" for everything else.
    cofactor : float, optional
        Of arcsinh; by default 5 for mass cytometry and 150 otherwise, or less for values of a
        smaller range. See `FcsHeader.is_mass_cytometry` for how the instrument is recognised, and
        :func:`~bigtensor.data.importers.scales.choose_transform`.
    untransformed : sequence of str, optional
        Features or channels that stay linear and, without a panel, are not used; by default
        scatter and time, see :func:`~bigtensor.data.importers.transforms.is_untransformed`.
    like : path-like, optional
        Store of an earlier import, whose panel, transform and compensation are repeated, in place
        of `compensate`, `panel`, `transform`, `cofactor` and `untransformed`. A model that was
        fitted to this store answers for the new one.
    offsets : {"header", "text"}, optional
        FCS only: which segment to believe if they disagree on where the events lie.
    dataset : int, default 0
        FCS only: which data set of a file that holds several.
    channels : {"same", "common"}, default "same"
        ``"same"``: files with different features are an error. ``"common"``: the features that
        all files have are imported.
    label, sample_id : str, optional
        Tables and AnnData: columns to keep beside the features.
    sequence : str, optional
        Tables and AnnData: the column that says which sequence a row is of, kept as the variable
        ``sequence``. Integers of one file stay as they are. Other ids, and those of several files,
        are codes with names. Sequences end with their file.
    weight : str, optional
        Tables and AnnData: the column of weights, kept as the variable ``weight``, by which a fit
        weighs the rows. A parameter of the model, also called ``weights``, says what they mean.
    exclude : str or sequence of str, default ()
        Columns of tables, or with `codes` of ``obs`` of AnnData, that are no features. All files
        must have them.
    missing_values : str, float or sequence of these, default ()
        Tables only: values of features that stand for missing ones, such as -999 or ``"refused"``.
        They become NaN, or the code -1. Empty cells are missing anyway.
    layer, obsm : str, optional
        AnnData only: key of the layer, such as ``"counts"``, or of the entry of ``obsm``, such as
        ``"X_pca"``, to import in place of X.
    labels : mapping of str to array-like of int, optional
        FCS only: for the stem of every file one code an event, -1 for none.
    label_names : sequence of str, optional
        The name of each code of `labels`.
    codes : bool, default False
        Make every feature codes of named categories: every column of a CSV or Parquet file, of
        numbers too, or the categorical, string and boolean columns of ``obs`` of AnnData. Codes are
        numbered in the order in which the categories first appear, or in the order of an ordered
        categorical column of texts of a Parquet file, and -1 stands for an empty cell.
        They are stored as int32.
    dtype : {"float32", "float64"}, default "float32"
        Type of the stored values.
    keep_raw : bool, default False
        Also store the values before compensation and transform, on the linear scale, as ``raw``.
    where : str, optional
        Condition on the transformed values and the variables of the rows that rows have to meet,
        such as ``"CD45 > 2"``; see `bigtensor.data.rows.condition_syntax`. The variable
        ``source_row`` then holds the row that each row has among all rows of the files.
    overwrite : bool, default False
        If True, an existing store may be replaced.
    progress : callable, optional
        Called with the rows done and all rows (None if that is not known) after each block.

    Returns
    -------
    ImportSummary
        Rows, features and files of the store, its transform and the warnings of the import.

    Raises
    ------
    FileFormatError
        If a file is missing, damaged, of an unknown kind, or cannot be read faithfully. The errors
        of several files are raised together, as an `UnreadableFilesError`.
    DataError
        If the files do not fit together, or a column or a label is missing.
    ParameterError
        If parameters contradict each other or the kind of the files.
    OutputError
        If the store cannot be written.

    Warns
    -----
    FileFormatWarning
        If something in an FCS file was repaired or left out, or markers (``$PnS``) are on different
        channels (``$PnN``) than in other files, or than in `like`.
    TransformWarning
        If a transform leaves a marker nearly linear.
    """
    kind = _kind(files := _files(paths, format), format)
    check_target(target := as_address(out), overwrite=overwrite)
    label_codes = _codes_by_file(files, labels, label_names)
    own = FeatureSettings(kind == "fcs", as_panel(panel), transform, cofactor, untransformed, codes)
    settings, compensate = _settings_like(like, own, compensate=compensate)
    _check_dtype(kind, settings, dtype, keep_raw=keep_raw)
    of_kind = _of_anndata(kind, layer, obsm, codes=codes) | _of_tables(kind, missing_values)
    kept = {"label": label, "sample_id": sample_id, "sequence": sequence, "weight": weight}
    of_fcs: dict[str, Any] = {"compensate": compensate, "offsets": offsets, "dataset": dataset}
    if kind == "fcs":
        _refuse_columns_of_tables({**kept, "exclude": exclude or None})
        openers = [partial(open_fcs, label=code, **of_fcs) for code in label_codes]
    else:
        _refuse_options_of_fcs(kind, labels=labels, **of_fcs)
        options = {**kept, **of_kind, **_of_columns(kind, exclude, kept, codes=codes)}
        openers = [partial((_CODES if codes else _OPENERS)[kind], **options)] * len(files)
    opened = for_every_file(partial(_opened, chosen=format), zip(openers, files, strict=True))
    settings = settings if like is None else _for_channels_of(opened, settings)
    features, columns = match_features(sources := with_panel(opened, settings.panel), channels)
    return ImportJob(
        *(sources, sample_names(files), features, columns),
        *(resolve_features(sources, features, settings), _label_names(label_codes, label_names)),
        has_label=label is not None or labels is not None,
        codes=codes,
        where=where,
        kept=kept,
        note="" if panel is not None else note_on_moved_markers(opened, settings.panel),
        in_some=features_in_some(sources, features),
    ).run(target, dtype=dtype, keep_raw=keep_raw, overwrite=overwrite, progress=progress)


def _settings_like(
    store: "str | os.PathLike[str] | None", settings: FeatureSettings, *, compensate: bool
) -> tuple[FeatureSettings, bool]:
    """Return the settings of a store if there is one, and True to remove spillover.

    Raises
    ------
    ParameterError
        If one of these settings is given as well.
    """
    if store is None:
        return settings, compensate
    values = {
        "compensate": compensate or None,
        "panel": settings.panel,
        "transform": settings.transform,
        "cofactor": settings.cofactor,
        "untransformed": settings.untransformed,
    }
    beside = [Setting(name) for name, value in values.items() if value is not None]
    if beside:
        raise ParameterError(
            Setting("like")
            + " repeats the options of an earlier import; leave out "
            + Message(", ").join(beside)
        )
    own = settings_of_store(store)
    return replace(
        settings, panel=own.panel, transform=own.transform, untransformed=own.untransformed
    ), own.compensate


def _for_channels_of(sources: Sequence[ImportSource], settings: FeatureSettings) -> FeatureSettings:
    """Return the settings of a store without unused channels that none of some files has."""
    return settings.for_channels({name for source in sources for name in channels_of(source)})


def _files(
    paths: "str | os.PathLike[str] | Iterable[str | os.PathLike[str]]", chosen: Format | None
) -> list[Path]:
    """Return the files that paths, folders and patterns stand for."""
    path_list = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    local_paths = [local_path(path) for path in path_list]
    for path in local_paths:
        try:
            is_tenx = is_tenx_folder(path)
        except OSError as error:
            raise unreachable(path, error) from error
        if is_tenx:
            raise FileFormatError(f"{path} is a folder of 10x Genomics" + _OF_COUNTS)
    endings = [ending for ending, kind in _FORMATS.items() if chosen in (None, kind)]
    return expand_paths(local_paths, endings)


def _opened(
    opener_and_file: tuple[Callable[[Path], ImportSource], Path], chosen: Format | None
) -> ImportSource:
    """Open a file after a check that it can be one of data."""
    opener, file = opener_and_file
    _check_file(file, chosen)
    source = opener(file)
    nameless = [place for place, name in enumerate(source.features) if not name.strip()]
    if nameless:
        raise FileFormatError(
            f"feature {nameless[0]} (from 0) of {file} has no name; give every feature a name, or "
            "remove it"
        )
    return replace(source, features=tuple(unique_names(source.features)))


def _refuse_columns_of_tables(kept: Mapping[str, str | Sequence[str] | None]) -> None:
    """Raise a ParameterError for columns of tables with FCS files."""
    columns = [Setting(name) for name, column in kept.items() if column is not None]
    if columns:
        raise ParameterError(
            "only tables and AnnData have columns for "
            + Message(", ").join(columns)
            + ", and these files are fcs; leave them out (in Python, "
            + Setting("labels")
            + " holds labels of events)"
        )


def _refuse_options_of_fcs(kind: Format, **options: object) -> None:
    """Raise a ParameterError for options of FCS files with other files."""
    unused = [Setting(name) for name, value in options.items() if value is not None and value != 0]
    if unused:
        raise ParameterError(
            "only FCS files take "
            + Message(", ").join(unused)
            + f", and these files are {kind}; leave them out"
        )


def _of_anndata(
    kind: Format, layer: str | None, obsm: str | None, *, codes: bool
) -> dict[str, str]:
    """Return the options of AnnData that are given, or raise a ParameterError with other files."""
    named = {name: key for name, key in (("layer", layer), ("obsm", obsm)) if key is not None}
    if not named:
        return named
    keys = Message(" and ").join(Setting(name, key) for name, key in named.items())
    if kind != "anndata":
        raise ParameterError(
            "only AnnData have matrices for " + keys + f", and these files are {kind}; leave it out"
        )
    if codes:
        raise ParameterError(
            Setting("codes", True) + " imports columns of obs, and " + keys + " no column; give one"
        )
    return named


def _of_columns(
    kind: Format, exclude: str | Sequence[str], kept: Mapping[str, str | None], *, codes: bool
) -> dict[str, Any]:
    """Return the columns to leave out.

    Raises
    ------
    ParameterError
        For a matrix of AnnData, and for a column that is kept beside the features.
    """
    exclude = (exclude,) if isinstance(exclude, str) else tuple(exclude)
    if not exclude:
        return {}
    for name, column in kept.items():
        if column in exclude:
            raise ParameterError(
                Setting(name, column)
                + " keeps a column beside the features, and "
                + Setting("exclude")
                + " leaves it out; give one of them"
            )
    if kind == "anndata" and not codes:
        raise ParameterError(
            Setting("exclude")
            + " leaves out columns of tables, and features of AnnData are in var; name those to "
            "leave out with the role of a " + Setting("panel") + ", or select features in the file"
        )
    return {"exclude": exclude}


def _of_tables(
    kind: Format, values: str | float | Sequence[str | float]
) -> dict[str, tuple[str, ...]]:
    """Return the option with values that stand for missing ones, if there are any.

    Raises
    ------
    ParameterError
        For files that are no tables.
    """
    marks = (values,) if isinstance(values, (str, float, int, np.number)) else tuple(values)
    if not marks:
        return {}
    if kind not in ("csv", "parquet"):
        raise ParameterError(
            "only tables take "
            + Setting("missing_values")
            + f", and these files are {kind}; replace the values by NaN in the files"
        )
    plain = (mark.item() if hasattr(mark, "item") else mark for mark in marks)
    return {"missing_values": tuple(name_of_value(mark) for mark in plain)}


def _check_dtype(
    kind: Format, settings: FeatureSettings, dtype: DTypeLike, *, keep_raw: bool
) -> None:
    """Raise a ParameterError for a type of values that cannot be stored, or be made codes."""
    if np.dtype(dtype) not in (np.dtype(np.float32), np.dtype(np.float64)):
        raise ParameterError(
            Setting("dtype")
            + f" must be float32 or float64, not {np.dtype(dtype)}; integers are made with "
            + Setting("codes", True)
        )
    if settings.codes:
        _check_codable(kind, settings, dtype, keep_raw=keep_raw)


def _check_codable(
    kind: Format, settings: FeatureSettings, dtype: DTypeLike, *, keep_raw: bool
) -> None:
    """Raise a ParameterError for options of measured values that are given for codes."""
    if kind not in _CODES:
        raise ParameterError(f"codes are made of tables and AnnData; these files are {kind}")
    is_set = {
        "transform": settings.transform not in (None, "none"),
        "cofactor": settings.cofactor is not None,
        "untransformed": settings.untransformed is not None,
        "panel": settings.panel is not None,
        "dtype": np.dtype(dtype) != np.float32,
        "keep_raw": keep_raw,
    }
    unusable = [name for name in is_set if is_set[name]]
    if unusable:
        raise ParameterError(
            Message(", ").join(map(Setting, unusable))
            + ": for measured values alone; leave them out with "
            + Setting("codes", True)
        )


def _kind(files: Sequence[Path], chosen: Format | None) -> Format:
    """Return the file format of all paths, and raise an error if formats are mixed or unknown.

    Names alone are looked at. Files that cannot be read are named together when all are opened.
    """
    if not files:
        raise ParameterError("there are no files to import; give at least one")
    if len(set(files)) < len(files):
        raise ParameterError(f"a file is given twice among {[str(path) for path in files]}")
    if chosen is not None and chosen not in _OPENERS and chosen != "fcs":
        raise ParameterError(f"unknown format {chosen!r}; choose one of {('fcs', *_OPENERS)}")
    kinds: dict[Format, Path] = {}
    for path in files:
        if kind := _kind_of_name(path, chosen):
            kinds.setdefault(kind, path)
    if not kinds:
        for_every_file(partial(_check_file, chosen=chosen), files)
    if len(kinds) > 1:
        raise ParameterError(
            "files of different kinds are imported one kind at a time, but there are "
            + " and ".join(f"{path} ({kind})" for kind, path in kinds.items())
            + "; name the files of one kind, such as those of 'folder/*.csv'"
        )
    return next(iter(kinds))


def _kind_of_name(path: Path, chosen: Format | None) -> Format | None:
    """Return the format of a file by the end of its name, None if it is unknown."""
    return chosen or _FORMATS.get(bare_name(path).suffix.lower())


def _check_file(path: Path, chosen: Format | None) -> None:
    """Raise a FileFormatError for what cannot be a file of data."""
    mode = _mode(path)
    kind = _kind_of_name(path, chosen)
    if kind is None:
        reader = _READERS.get(bare_name(path).suffix.lower())
        if reader is not None:
            raise FileFormatError(
                f"{path} is of a kind that the import does not read; convert it with "
                f"pandas.{reader}(...).to_parquet('{bare_name(path).stem}.parquet')"
            )
        raise FileFormatError(
            f"{path} is of an unknown kind; known are {', '.join(_FORMATS)} "
            "(or say which with " + Setting("format") + ")" + _OF_COUNTS
        )
    if path.is_dir() and not (kind == "anndata" and path.suffix.lower() == ".zarr"):
        raise FileFormatError(f"{path} is a folder; give the files in it")
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise FileFormatError(
            f"{path} is a pipe or a device; write its contents to a file, which is read twice"
        )
    if stat.S_ISREG(mode) and path.stat().st_size == 0:
        raise FileFormatError(f"{path} is empty; was it copied completely?")


def _mode(path: Path) -> int:
    """Return the file mode of a path, and raise an error if nothing is there."""
    try:
        return path.stat().st_mode
    except FileNotFoundError as error:
        if path.is_symlink():
            raise FileFormatError(
                f"{path} is a link to {path.readlink()}, which does not exist; mend the link"
            ) from error
        raise FileFormatError(f"{path} does not exist; check the path") from error
    except (OSError, ValueError) as error:
        raise unreachable(path, error) from error


def _codes_by_file(
    files: Sequence[Path], labels: Mapping[str, ArrayLike] | None, names: Sequence[str] | None
) -> list[NDArray[np.int32] | None]:
    """Return the label codes of each file."""
    if labels is None:
        return [None] * len(files)
    stems = [bare_name(path).stem for path in files]
    missing = [stem for stem in stems if stem not in labels]
    if missing:
        raise DataError(f"there are no labels for {missing}; there are for {sorted(labels)}")
    codes = []
    for stem in stems:
        values = np.asarray(labels[stem])
        top = values.max(initial=-1)
        if values.dtype.kind not in "iu" or values.min(initial=0) < -1:
            raise DataError(f"labels of {stem} must be integers from -1 (none) up")
        if names is not None and top >= len(names):
            raise DataError(f"labels of {stem} reach {top}, but there are {len(names)} names")
        codes.append(checked_cast(values, np.int32, f"the label of {stem}"))
    return list(codes)


def _label_names(
    codes: Sequence[NDArray[np.int32] | None], names: Sequence[str] | None
) -> tuple[str, ...] | None:
    """Return the names of label codes, or the codes as text where they have no names."""
    tops = [int(values.max(initial=-1)) for values in codes if values is not None]
    if not tops:
        return None
    return tuple(names) if names is not None else tuple(str(c) for c in range(max(tops) + 1))
