"""The documentation's site: every public name, no broken reference, no page wider than a window."""

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bigtensor
from bigtensor import errors, simulate, termination, testing
from bigtensor.models.contract.registry import MODELS

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTHS = (1280, 390)

MEASURE = """<!DOCTYPE html><meta charset="utf-8"><pre id="found"></pre><script>
const found = [];
async function measure(page, width) {
  const frame = document.createElement("iframe");
  frame.style.width = width + "px"; frame.style.height = "900px"; frame.style.border = "0";
  document.body.append(frame);
  await new Promise(resolve => { frame.onload = resolve; frame.src = page; });
  const inside = frame.contentDocument;
  frame.contentWindow.onerror = message => found.push([page, width, "error", String(message)]);
  const widest = inside.documentElement.scrollWidth;
  const pictures = [...inside.images].filter(one => one.complete && !one.naturalWidth).length;
  found.push([page, width, widest, pictures]);
  frame.remove();
}
(async () => {
  for (const page of PAGES) for (const width of WIDTHS) await measure(page, width);
  document.getElementById("found").textContent = JSON.stringify(found);
  document.title = "done";
})();
</script>"""


def public_names():
    named = [
        name for name in bigtensor.__all__ if name not in ("__version__", "simulate", "testing")
    ]
    laws = [name for name in testing.__all__ if not name.endswith("_LAWS")]
    own = [
        name
        for name, value in vars(errors).items()
        if isinstance(value, type)
        and issubclass(value, Exception)
        and value.__module__ == errors.__name__
    ]
    return [*named, *simulate.__all__, *termination.__all__, *laws, *own]


def other_projects():
    spec = importlib.util.spec_from_file_location("other_projects", DOCS / "other_projects.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", public_names())
def test_reference__has_every_public_name(name):
    listed = re.findall(r"^   (\w+)$", (DOCS / "api.md").read_text(), re.MULTILINE)
    times = listed.count(name)
    assert times == 1, f"docs/api.md lists {name} {times} times; list it once, in an autosummary"


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_every_page__is_in_a_table_of_contents(page):
    if page.stem == "index":
        return
    contents = "\n".join(
        block
        for other in DOCS.glob("*.md")
        for block in re.findall(r"^```\{toctree\}\n(.*?)^```$", other.read_text(), re.M | re.S)
    )
    assert re.search(rf"^{page.stem}$", contents, re.MULTILINE)


def test_design_notes__are_all_in_their_index():
    index = (DOCS / "design" / "index.md").read_text()
    for note in DOCS.glob("design/2*.md"):
        assert f"]({note.name}) |" in index
        assert f"\n{note.stem}\n" in index


def test_names_of_other_projects__exist():
    pytest.importorskip("distributed")
    pytest.importorskip("anndata")
    for _, targets in other_projects().PROJECTS.values():
        for _, name, _ in targets:
            module, _, attribute = name.rpartition(".")
            assert hasattr(importlib.import_module(module), attribute), name


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, with warnings and broken references as errors."""
    pytest.importorskip("sphinx", reason="the site needs 'bigtensor[docs]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "-n", "-q", "-E", DOCS, folder]
    built = subprocess.run(command, capture_output=True, text=True, check=False, timeout=500)
    assert built.returncode == 0, built.stderr[-3000:]
    return folder


@pytest.mark.slow
def test_site__has_a_page_for_every_public_name(site):
    reference = [page.stem.rpartition(".")[2] for page in (site / "api").glob("*.html")]
    assert sorted(public_names()) == sorted(reference)
    assert "KernelMixture" in (site / "searchindex.js").read_text()


@pytest.mark.slow
def test_types_in_docstrings__link_to_the_pages_of_other_projects(site):
    page = (site / "api" / "bigtensor.KernelMixture.html").read_text()
    address, targets = other_projects().PROJECTS["xarray"]
    assert any(f'href="{address}{place}"' in page for _, _, place in targets)


@pytest.mark.slow
def test_links__of_the_site_lead_to_pages_and_anchors(site):
    written = [page for page in site.rglob("*.html") if "_static" not in page.parts]
    pages = {page: page.read_text(encoding="utf-8") for page in written}
    anchors = {page: set(re.findall(r'\bid="([^"]+)"', text)) for page, text in pages.items()}
    broken = []
    for page, text in pages.items():
        for target in re.findall(r'href="([^"]+)"', text):
            if re.match(r"[a-z]+:", target):
                continue
            address, _, anchor = target.partition("#")
            address = address.partition("?")[0]
            linked = (page.parent / address).resolve() if address else page
            known = anchors.get(linked, set()) | {"", "main-content"}
            if not linked.exists() or (linked in pages and anchor not in known):
                broken.append(f"{page.relative_to(site)}: {target}")
    assert broken == []


@pytest.mark.slow
def test_pages__fit_into_windows_of_two_widths(site, tmp_path):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"no browser to open the site in: none of {', '.join(BROWSERS)} is on the PATH")
    pages = [page for page in site.rglob("*.html") if not {"_static", "gallery"} & {*page.parts}]
    measure = site / "measure-pages.html"
    names = [str(page.relative_to(site)) for page in sorted(pages)]
    script = MEASURE.replace("PAGES", json.dumps(names)).replace("WIDTHS", json.dumps(WIDTHS))
    measure.write_text(script, encoding="utf-8")
    command = [
        browser,
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
        *("--allow-file-access-from-files", "--window-size=1400,1000"),
        *("--virtual-time-budget=600000", "--dump-dom", f"--user-data-dir={tmp_path}"),
        measure.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, check=True, timeout=400)
    text = re.search(r'<pre id="found">(.*?)</pre>', done.stdout.decode(), re.DOTALL)
    assert text is not None
    found = json.loads(text[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert len(found) == len(names) * len(WIDTHS)
    assert [one for one in found if one[2] == "error" or one[2] > one[1] or one[3]] == []


def test_methods_left_out_of_pages__are_methods_of_models() -> None:
    template = (DOCS / "templates" / "autosummary" / "class.rst").read_text(encoding="utf-8")
    left_out = re.findall(r'"(\w+)"', template.split("internal = [")[1].split("]")[0])
    models = [getattr(bigtensor, name) for name in MODELS]
    assert [name for name in left_out if not any(hasattr(one, name) for one in models)] == []
