"""The command line: import data, plan and run a fit, label every row, export, report.

Only click is imported here and in the modules of the commands; each command imports what it needs
when it runs, so that help and wrong usage answer at once.
"""

import click

from bigtensor._version import __version__
from bigtensor.cli.commands.accumulate import accumulate
from bigtensor.cli.commands.add import add
from bigtensor.cli.commands.demo import demo
from bigtensor.cli.commands.deploy import deploy
from bigtensor.cli.commands.export import export
from bigtensor.cli.commands.fit import fit
from bigtensor.cli.commands.importing import import_command
from bigtensor.cli.commands.info import info
from bigtensor.cli.commands.merge import merge
from bigtensor.cli.commands.models import models
from bigtensor.cli.commands.panel import panel
from bigtensor.cli.commands.plan import plan
from bigtensor.cli.commands.predict import predict
from bigtensor.cli.commands.prepare import prepare
from bigtensor.cli.commands.report import report
from bigtensor.cli.commands.simulate import simulate
from bigtensor.cli.commands.solve import solve
from bigtensor.cli.commands.subset import subset
from bigtensor.cli.comparison.compare import compare
from bigtensor.cli.populations.cut import cut
from bigtensor.cli.populations.merge_populations import merge_populations
from bigtensor.cli.populations.name import name
from bigtensor.cli.populations.refine import refine
from bigtensor.cli.sections import SectionedGroup

__all__ = ["main"]


@click.group(
    cls=SectionedGroup,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Results go to standard output, progress and warnings to standard error. "
    "Exit codes: 0 done, 1 the work failed, 2 wrong usage, 129 the terminal was closed, "
    "130 interrupted, 141 nobody reads the output any more, 143 terminated.",
)
@click.version_option(__version__, prog_name="bigtensor")
def main() -> None:
    """Find populations of cells, hidden states, topics or sources in data of any size.

    Start with 'bigtensor demo'. The usual way with files of your own is panel, import, fit, name,
    predict, compare, report and export.
    """


_SECTIONS = {
    "Data": (demo, simulate, panel, import_command, info, subset, add),
    "Models": (models, plan, fit, predict, report, export),
    "Populations and samples": (name, cut, merge_populations, refine, compare),
    "Sites that fit together, and clusters": (prepare, accumulate, merge, solve, deploy),
}

for _section, _commands in _SECTIONS.items():
    main.add_section(_section, _commands)
