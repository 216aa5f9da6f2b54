"""The command line, as ``bigtensor`` and as ``python -m bigtensor``."""

import atexit
import os
import signal
import sys


def main() -> None:
    """Run the command line. Ctrl-C while it is imported ends in one line, too.

    A second SIGTERM or SIGHUP may arrive when a command has ended and the interpreter has not. The
    process then has the exit code of the first one.
    """
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        # nohup lets a command ignore SIGHUP
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda number, _: os._exit(128 + number))
            # Python restores the default before it lets go of modules, which takes longest
            atexit.register(signal.signal, number, signal.SIG_IGN)
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
