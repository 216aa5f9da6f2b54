"""The command line, as ``bigtensor`` and as ``python -m bigtensor``."""

import os
import sys


def main() -> None:
    """Run the command line. Ctrl-C while it is imported ends in one line, too."""
    if sys.stderr is None:
        # standard error is closed; NumPy 2.0 cannot be imported without one
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115
    try:
        from bigtensor.cli import main as command_line
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was written\n")
        sys.exit(130)
    command_line(prog_name="bigtensor")


# Worker processes import this module again, under another name.
if __name__ == "__main__":
    main()
