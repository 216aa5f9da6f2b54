import shutil
import subprocess

import numpy as np
import pytest
from PIL import Image

from bigtensor.report.html import write_report
from bigtensor.report.style import palette

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--window-size=1400,3600",
)


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip(f"no browser to open the report in: none of {', '.join(NAMES)} is on the PATH")
    return found


@pytest.fixture(scope="module")
def report(cell_model, cells_path, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write_report(cell_model, path, data=cells_path, sample_size=4000)


def run(browser, profile, report, *flags):
    done = subprocess.run(
        [browser, *FLAGS, f"--user-data-dir={profile}", *flags, report.as_uri()],
        capture_output=True,
        check=True,
        timeout=120,
    )
    return done.stdout.decode()


def contents(picture):
    """Return the part of a picture that is not its most frequent colour."""
    values = np.asarray(picture.convert("RGB")).astype(np.int64)
    codes = (values * [65536, 256, 1]).sum(axis=2)
    return float(np.mean(codes != np.bincount(codes.ravel()).argmax()))


def test_report__is_shown_by_a_browser(browser, report, tmp_path):
    shot = tmp_path / "shot.png"
    run(browser, tmp_path / "profile", report, f"--screenshot={shot}")
    with Image.open(shot) as picture:
        assert picture.size == (1400, 3600)
        # figures in colour on white cards on a grey page
        saturation = np.asarray(picture.convert("HSV"))[:, :, 1]
        assert np.mean(saturation > 100) > 0.005
        for top in range(0, 3600, 900):
            assert contents(picture.crop((0, top, 1400, top + 900))) > 0.05


def test_report__keeps_its_words_and_figures_in_a_browser(browser, report, tmp_path, cell_model):
    page = run(browser, tmp_path / "profile", report, "--dump-dom")
    assert "was fitted to 30,000 rows of 5 features" in page
    # densities, pairs, heatmap, shares, maps of samples and rows, drift, probabilities (2), passes
    assert page.count("<img ") == 5 + 10 + 8
    assert all(name in page for name in cell_model.views_.feature_names)
    assert page.rstrip().endswith("</html>")


@pytest.mark.slow
def test_report__shows_the_tree_of_populations_in_a_browser(
    browser, merged_model, cells_path, tmp_path
):
    report = write_report(merged_model, tmp_path / "report.html", data=cells_path, sample_size=2000)
    shot = tmp_path / "shot.png"
    run(browser, tmp_path / "profile", report, f"--screenshot={shot}")
    with Image.open(shot) as picture:
        # the colours of the four populations: bars, tree, swatches
        pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3)
        for colour in palette(4):
            wanted = [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
            assert np.count_nonzero((pixels == wanted).all(axis=1)) > 300
