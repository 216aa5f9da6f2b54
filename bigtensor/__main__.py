"""``python -m bigtensor`` is the command line."""

from bigtensor.cli import main

# Worker processes import this module again, under another name.
if __name__ == "__main__":
    main(prog_name="bigtensor")
