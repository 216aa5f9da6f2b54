"""``bigtensor info``: what stores, AnnData and FCS files hold."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from bigtensor.cli.command import Command
from bigtensor.cli.descriptions.anndata_info import anndata_facts, anndata_lines
from bigtensor.cli.descriptions.fcs_info import (
    common_facts,
    common_line,
    fcs_facts,
    fcs_lines,
    is_fcs,
)
from bigtensor.cli.descriptions.model_info import model_facts, model_lines
from bigtensor.cli.descriptions.result_info import (
    answer_facts,
    answer_lines,
    statistics_facts,
    statistics_lines,
)
from bigtensor.cli.descriptions.sample_info import sample_facts, sample_lines
from bigtensor.cli.options import DATA
from bigtensor.cli.output import complain, one_line, say
from bigtensor.errors import BigtensorError

Facts = dict[str, Any]

_LINES: dict[str, Callable[[Mapping[str, Any]], Iterator[str]]] = {
    "samples": sample_lines,
    "anndata": anndata_lines,
    "model": model_lines,
    "statistics": statistics_lines,
    "labels": answer_lines,
    "answers": answer_lines,
    "fcs": fcs_lines,
}
"""Words for facts, by kind."""


@click.command(cls=Command)
@click.argument(
    "paths", type=DATA, nargs=-1, required=True, metavar="STORE.zarr|CELLS.h5ad|FILE.fcs..."
)
@click.pass_context
def info(context: click.Context, paths: tuple[str, ...]) -> None:
    """Describe stores of data, models, statistics or answers, AnnData, and FCS files.

    Of an FCS file the header and a sample of the events are read: channels, markers, scales, and
    what 'bigtensor import' does without options.
    """
    described: list[Facts] = []
    for number, path in enumerate(paths):
        if number:
            say("")
        try:
            facts = _facts(path)
        except BigtensorError as error:
            if len(paths) == 1:
                raise
            described.append({"path": path, "error": str(error)})
            # not every error names the path
            name = "" if path in str(error) else f"{path}: "
            complain(f"error: {one_line(name + str(error))}")
            continue
        described.append({"path": path, **facts})
        say("\n".join(_LINES[facts["kind"]](described[-1])))
    document: Facts = {"paths": described}
    if len(paths) > 1 and all(facts.get("kind") == "fcs" for facts in described):
        document["together"] = common_facts([Path(path) for path in paths])
        say("\n" + common_line(document["together"]))
    say(None, document)
    if any("error" in facts for facts in described):
        context.exit(1)


def _facts(path: str) -> Facts:
    """Return the facts of a file or a store of any kind."""
    from bigtensor.data.anndata.files import is_h5ad
    from bigtensor.data.stores.zarr_groups import open_group

    if is_fcs(path):
        return fcs_facts(Path(path))
    if is_h5ad(path):
        return anndata_facts(path)
    group = open_group(path)
    if group.attrs.get("encoding-type") == "anndata":
        return anndata_facts(path)
    if group.attrs.get("kind") == "Statistics":
        return statistics_facts(path)
    if "bigtensor_format" in group.attrs:
        return model_facts(path)
    if "model" in group.attrs:
        return answer_facts(path, group)
    return sample_facts(path, group)
