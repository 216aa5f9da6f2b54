"""Write the results of fits with the present code to the files beside it.

``python -m tests.models.expected`` writes the results of every family and the stored forms of
models. Names of families limit it to these families and to the stored forms of new models, and
``stored_forms`` to the stored forms. A change that is meant to alter numbers or stored forms is
committed together with these files.
"""

import json
import sys

from tests.models.expected import stored_forms
from tests.models.expected.families import FAMILIES, stored_path

if __name__ == "__main__":
    # first, because a changed form needs another version before anything is written
    stored_forms.write()
    for family in sys.argv[1:] or FAMILIES:
        if family == stored_forms.NAME:
            continue
        results = {name: fit.results() for name, fit in FAMILIES[family].items()}
        stored_path(family).write_text(json.dumps(results, indent=1) + "\n")
        print(f"{len(results)} fits of {family}")
