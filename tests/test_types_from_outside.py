"""Types that a user's script sees."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import bigtensor

SCRIPT = """
import numpy as np
from bigtensor import KernelMixture, differential_abundance, open_samples, simulate

cells = simulate.cytometry(2000, 3, random_state=1)
model = KernelMixture(3, random_state=0).fit(cells)
reveal_type(model)
reveal_type(model.weights_)
reveal_type(model.predict_proba)
reveal_type(open_samples)
reveal_type(differential_abundance)
KernelMixture(no_such_parameter=1)
"""


def test_names_for_type_checkers__are_the_public_ones():
    source = Path(bigtensor.__file__).read_text(encoding="utf-8")
    (block,) = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    ]
    homes = {
        alias.asname: f"{node.module}.{alias.name}"
        if alias.name in ("simulate", "testing")
        else node.module
        for node in block.body
        for alias in node.names
    }
    assert homes == bigtensor._HOMES


@pytest.mark.slow
def test_script_of_a_user__has_types(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", script.name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    revealed = [line for line in done.stdout.splitlines() if "Revealed type" in line]
    assert len(revealed) == 5, done.stdout
    assert not any(line.endswith('"Any"') for line in revealed)
    assert "KernelMixture" in revealed[0]
    assert "float64" in revealed[1]
    assert "no_such_parameter" in done.stdout
