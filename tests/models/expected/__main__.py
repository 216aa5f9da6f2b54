"""Write the results of fits with the present code to the files beside it.

``python -m tests.models.expected`` writes those of every family, and with names of families those
alone. A change that is meant to alter numbers is committed together with these files.
"""

import json
import sys

from tests.models.expected.families import FAMILIES, stored_path

if __name__ == "__main__":
    for family in sys.argv[1:] or FAMILIES:
        results = {name: fit.results() for name, fit in FAMILIES[family].items()}
        stored_path(family).write_text(json.dumps(results, indent=1) + "\n")
        print(f"{len(results)} fits of {family}")
