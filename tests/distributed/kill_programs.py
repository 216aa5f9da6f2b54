"""Work that tests kill: every program writes below one folder, and is run again after a kill.

python kill_programs.py NAME INPUTS FOLDER
"""

import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anndata
import numpy as np
import pandas as pd

import bigtensor
from bigtensor import simulate
from bigtensor.annotation import model_record
from bigtensor.data.exporters.anndata import write_answers_to_anndata
from bigtensor.data.exporters.csv import write_answers_to_csv
from bigtensor.data.exporters.fcs import write_answers_to_fcs
from bigtensor.data.exporters.new_anndata import write_new_anndata
from bigtensor.data.importers.counts.import_counts import import_counts
from bigtensor.data.importers.files import import_files
from bigtensor.data.stores.layout import SampleStoreWriter
from bigtensor.store import read_group
from tests.data.importers.conftest import _write_fcs as write_fcs
from tests.distributed.fit_driver import model

FEATURES = ["a", "b", "c"]
FILES = 3
"""FCS, CSV and Parquet files, and sites of rounds."""


def make_inputs(folder: Path) -> None:
    """Write what all programs read."""
    rows = simulate.kernel_mixture(300_000, 3, random_state=2)["X"].to_numpy()
    with SampleStoreWriter(folder / "cells.zarr", FEATURES) as writer:
        writer.append(rows)
    with SampleStoreWriter(folder / "few.zarr", FEATURES) as writer:
        writer.append(rows[:200_000])
    few = rows[:90_000]
    for number, part in enumerate(np.split(few, FILES)):
        with SampleStoreWriter(folder / f"site{number}.zarr", FEATURES) as writer:
            writer.append(part)
        write_fcs(folder / f"{number}.fcs", list(part.astype("<f4").T), names=FEATURES)
        table = pd.DataFrame(part, columns=FEATURES)
        table.to_csv(folder / f"{number}.csv", index=False)
        table.to_parquet(folder / f"{number}.parquet", index=False)
    _write_docword(folder / "docword.txt")
    import_files(_fcs(folder), folder / "imported.zarr", transform="none")
    with warnings.catch_warnings():
        # anndata announces its next release
        warnings.simplefilter("ignore")
        anndata.AnnData(few, var=pd.DataFrame(index=FEATURES)).write_zarr(folder / "table.zarr")
    fitted = model("kernel").fit(str(folder / "imported.zarr"), scheduler="threads", workers=2)
    fitted.save(folder / "model.zarr")
    prepared = model("kernel").prepare(str(folder / "site0.zarr"), scheduler="threads", workers=2)
    prepared.save(folder / "prepared.zarr")
    outputs = ("label", "probability")
    fitted.write(str(folder / "imported.zarr"), folder / "labels.zarr", outputs=outputs)


def _write_docword(path: Path) -> None:
    """Write counts of 50 words in 20,000 documents as UCI docword."""
    counts = np.random.default_rng(0).poisson(0.5, (20_000, 50))
    documents, words = counts.nonzero()
    entries = np.column_stack([documents + 1, words + 1, counts[documents, words]])
    header = "\n".join(map(str, (*counts.shape, len(entries))))
    np.savetxt(path, entries, fmt="%d", header=header, comments="")


def _fcs(folder: Path) -> list[Path]:
    """Return the FCS files of the inputs."""
    return [folder / f"{number}.fcs" for number in range(FILES)]


def fit(inputs: Path, out: Path, scheduler: str = "threads") -> None:
    fitted = model("kernel").fit(
        str(inputs / "few.zarr"),
        scheduler=scheduler,
        workers=2,
        checkpoint=str(out / "parts"),
    )
    fitted.save(out / "model.zarr", overwrite=True)


def fit_in_processes(inputs: Path, out: Path) -> None:
    fit(inputs, out, "processes")


def write(inputs: Path, out: Path, scheduler: str = "threads") -> None:
    bigtensor.load(inputs / "model.zarr").write(
        str(inputs / "cells.zarr"),
        out / "labels.zarr",
        outputs=("label", "probability", "log_density"),
        overwrite=True,
        scheduler=scheduler,
        workers=2,
    )


def write_in_processes(inputs: Path, out: Path) -> None:
    write(inputs, out, "processes")


def simulate_rows(inputs: Path, out: Path) -> None:
    simulate.write_cytometry(out / "rows.zarr", 200_000, overwrite=True)


def import_csv(inputs: Path, out: Path) -> None:
    files = [inputs / f"{number}.csv" for number in range(FILES)]
    import_files(files, out / "cells.zarr", keep_raw=True, overwrite=True)


def import_parquet(inputs: Path, out: Path) -> None:
    files = [inputs / f"{number}.parquet" for number in range(FILES)]
    import_files(files, out / "cells.zarr", keep_raw=True, overwrite=True)


def import_word_counts(inputs: Path, out: Path) -> None:
    import_counts(inputs / "docword.txt", out / "words.zarr", overwrite=True)


def import_fcs(inputs: Path, out: Path) -> None:
    import_files(_fcs(inputs), out / "cells.zarr", keep_raw=True, overwrite=True)


def export_csv(inputs: Path, out: Path) -> None:
    labels, cells = inputs / "labels.zarr", inputs / "imported.zarr"
    write_answers_to_csv(labels, out / "labels.csv", cells=cells, features=FEATURES)


def export_fcs(inputs: Path, out: Path) -> None:
    labels, cells = inputs / "labels.zarr", inputs / "imported.zarr"
    write_answers_to_fcs(labels, _fcs(inputs), out / "fcs", cells=cells, overwrite=True)


def export_h5ad(inputs: Path, out: Path) -> None:
    labels, cells = inputs / "labels.zarr", inputs / "imported.zarr"
    write_new_anndata(labels, cells, out / "cells.h5ad", _record(inputs), overwrite=True)


def export_in_place(inputs: Path, out: Path) -> None:
    table = out / "table.zarr"
    if not table.exists():
        # that a kill of the copy leaves no half is no matter of the package
        shutil.copytree(inputs / "table.zarr", out / "copy")
        (out / "copy").rename(table)
    write_answers_to_anndata(inputs / "labels.zarr", table, _record(inputs), overwrite=True)


def _record(inputs: Path) -> Any:
    """Return the model as AnnData holds it."""
    return model_record(read_group(inputs / "model.zarr"))


def rounds(inputs: Path, out: Path) -> None:
    sites = [str(inputs / f"site{number}.zarr") for number in range(FILES)]
    prepared = model("kernel").prepare(sites[0], scheduler="threads", workers=2)
    prepared.save(out / "prepared.zarr", overwrite=True)
    for number in range(2):
        before = bigtensor.load(out / ("solved0.zarr" if number else "prepared.zarr"))
        sums = [out / f"sums{number}{site}.zarr" for site in range(FILES)]
        for site, path in zip(sites, sums, strict=True):
            before.accumulate(site, scheduler="threads", workers=2).save(path, overwrite=True)
        merged = bigtensor.merge(sums)
        merged.save(out / f"merged{number}.zarr", overwrite=True)
        before.solve(merged).save(out / f"solved{number}.zarr", overwrite=True)


PROGRAMS: dict[str, Callable[[Path, Path], None]] = {
    program.__name__: program
    for program in (
        fit,
        fit_in_processes,
        write,
        write_in_processes,
        simulate_rows,
        import_csv,
        import_parquet,
        import_word_counts,
        import_fcs,
        export_csv,
        export_fcs,
        export_h5ad,
        export_in_place,
        rounds,
    )
}


def run(name: str, inputs: Path, folder: Path) -> None:
    """Run a program whose temporary files have a folder of their own."""
    temporary, out = folder / "tmp", folder / "out"
    for place in (temporary, out):
        place.mkdir(exist_ok=True)
    os.environ["TMPDIR"] = tempfile.tempdir = str(temporary)
    said = os.open(folder / "said.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(said, 1)
    os.dup2(said, 2)
    print("started", flush=True)
    PROGRAMS[name](inputs, out)


if __name__ == "__main__":
    run(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3]))
