"""Write the results of fits with the present code to the files beside it.

``python -m tests.models.expected`` writes the results of every family and the stored forms of
models. Names of families, or ``stored_forms``, limit it to these files. A change that is meant to
alter numbers or stored forms is committed together with these files.
"""

import json
import sys

from tests.models.expected import stored_forms
from tests.models.expected.families import FAMILIES, stored_path

if __name__ == "__main__":
    for family in sys.argv[1:] or [stored_forms.NAME, *FAMILIES]:
        if family == stored_forms.NAME:
            stored_forms.PATH.write_text(json.dumps(stored_forms.stored_forms(), indent=1) + "\n")
            continue
        results = {name: fit.results() for name, fit in FAMILIES[family].items()}
        stored_path(family).write_text(json.dumps(results, indent=1) + "\n")
        print(f"{len(results)} fits of {family}")
