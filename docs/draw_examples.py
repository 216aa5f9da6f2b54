"""Draws the examples of the models' pages again: ``python docs/draw_examples.py [PAGE ...]``.

A page's Python blocks are run up to the one that saves a figure, which goes to ``docs/figures``.
"""

from __future__ import annotations

import re
import sys
from contextlib import chdir
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def draw(page: Path) -> None:
    """Run the blocks of one page in the folder of the figures."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    saving = next((n for n, block in enumerate(blocks) if "-example.png" in block), None)
    if saving is None:
        return
    names: dict[str, object] = {}
    with chdir(DOCS / "figures"):
        for block in blocks[: saving + 1]:
            exec(block, names)
    plt.close("all")
    print(page.name)


if __name__ == "__main__":
    mpl.use("Agg")
    for path in [DOCS / f"{name}.md" for name in sys.argv[1:]] or sorted(DOCS.glob("*.md")):
        draw(path)
