"""The command line, as ``bigtensor`` and as ``python -m bigtensor``."""

import sys


def main() -> None:
    """Run the command line. Ctrl-C while it is imported ends in one line, too."""
    try:
        from bigtensor.cli import main as command_line
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: nothing was written\n")
        sys.exit(130)
    command_line(prog_name="bigtensor")


# Worker processes import this module again, under another name.
if __name__ == "__main__":
    main()
