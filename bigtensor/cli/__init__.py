"""The command line: import data, plan and run a fit, label every row, export, report.

Only click is imported here and in the modules of the commands; each command imports what it needs
when it runs, so that help and wrong usage answer at once.
"""

import click

from bigtensor._version import __version__
from bigtensor.cli.accumulate import accumulate
from bigtensor.cli.demo import demo
from bigtensor.cli.deploy import deploy
from bigtensor.cli.export import export
from bigtensor.cli.fit import fit
from bigtensor.cli.importing import import_command
from bigtensor.cli.info import info
from bigtensor.cli.merge import merge
from bigtensor.cli.models import models
from bigtensor.cli.plan import plan
from bigtensor.cli.predict import predict
from bigtensor.cli.prepare import prepare
from bigtensor.cli.report import report
from bigtensor.cli.simulate import simulate
from bigtensor.cli.solve import solve

__all__ = ["main"]


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Results go to standard output, progress and warnings to standard error. "
    "Exit codes: 0 done, 1 the work failed, 2 wrong usage, 130 interrupted, "
    "143 terminated.",
)
@click.version_option(__version__, prog_name="bigtensor")
def main() -> None:
    """Latent variable models on data that does not fit in memory.

    Start with 'bigtensor demo', or bring your own data with 'bigtensor import'.
    """


_ALONE = (demo, simulate, import_command, info, models, plan, fit, predict, export, report)
_TOGETHER = (prepare, accumulate, merge, solve)

for _command in (*_ALONE, *_TOGETHER, deploy):
    main.add_command(_command)
