"""``bigtensor models``: the models and their options."""

from __future__ import annotations

from importlib import import_module

import click

from bigtensor.cli.command import Command
from bigtensor.cli.output import say


@click.command(cls=Command)
def models() -> None:
    """List the models that fit, plan and prepare take with --model."""
    from bigtensor.models.contract.registry import MODELS, command_name

    listed = []
    for name, module in MODELS.items():
        folder = import_module(module.rpartition(".")[0])
        summary = (folder.__doc__ or "").splitlines()[0]
        listed.append({"model": command_name(name), "class": name, "summary": summary})
    lines = [f"{entry['model']:<20} {entry['summary']}" for entry in listed]
    lines.append("Their options: bigtensor fit --model NAME --help")
    say("\n".join(lines), {"models": listed})
