import base64
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
import xarray as xr
from sklearn.exceptions import NotFittedError

import bigtensor
from bigtensor import ICA, KernelMixture, SpectralOptions
from bigtensor.data.opening import open_samples
from bigtensor.errors import (
    ConditioningWarning,
    DataError,
    MissingDependencyError,
    OutputError,
    ParameterError,
)
from bigtensor.models.words.wording import percent
from bigtensor.report.html import comparison_of, render_report, write_report
from bigtensor.report.rows import read_rows
from bigtensor.report.tables import agreement


class Page(HTMLParser):
    """What a page links to, shows and says."""

    def __init__(self, text):
        super().__init__()
        self.addresses, self.alternatives, self.tags, self.words = [], [], [], []
        self.feed(text)
        self.said = " ".join(" ".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.tags.append(tag)
        self.addresses += [found[name] for name in ("src", "href", "action") if name in found]
        if tag == "img":
            self.alternatives.append(found["alt"])

    def handle_data(self, data):
        self.words.append(data)

    @property
    def drawings(self):
        """The SVG images, decoded."""
        head = "data:image/svg+xml;base64,"
        return [
            base64.b64decode(one.removeprefix(head)).decode()
            for one in self.addresses
            if one.startswith(head)
        ]


@pytest.fixture(scope="module")
def text(cell_model, cells_path):
    return render_report(cell_model, data=cells_path, sample_size=4000)


def test_render_report__shows_every_part(text, cell_model):
    page = Page(text)
    features = cell_model.views_.feature_names
    densities = [one for one in page.alternatives if one.startswith("Densities of ")]
    assert densities == [f"Densities of {name} by component" for name in features]
    pairs = [one for one in page.alternatives if one.startswith("Components in ")]
    assert len(pairs) == 5 * 4 // 2
    assert any(one.startswith("Map of the sampled rows by") for one in page.alternatives)
    assert page.alternatives[0].startswith("Median of every feature")
    assert "Mean log-likelihood by posterior pass" in page.alternatives
    assert all(name in page.said for name in features)
    for weight in np.asarray(cell_model.weights_):
        assert f"{100 * weight:.1f} %" in page.said
    assert "4 components was fitted to 30,000 rows" in page.said
    assert cell_model.diagnostics_["data"] in page.said


def test_render_report__compares_with_labels_and_samples_of_the_data(text, cell_model, cells_path):
    page = Page(text)
    rows = read_rows(cell_model, cells_path, sample_size=4000)
    found = agreement(rows.label, rows.truth, 4)
    assert f"The mean of these F1 is {found.mean_f1:.3f}" in page.said
    assert all(name in page.said for name in rows.truth.names)
    assert all(f"sample{number}" in page.said for number in (1, 2, 3))
    assert "a sample of 3,968 of the 30,000 rows" in page.said


def test_render_report__compares_samples_by_a_condition(cell_model, cells_path, undrawn):
    samples = {"sample": ["sample1", "sample2", "sample3"], "dose": ["0", "1", "2"]}
    with pytest.raises(ParameterError, match="by"):
        comparison_of(samples, None)
    comparison = comparison_of(samples, "dose")
    page = Page(render_report(cell_model, data=cells_path, comparison=comparison, sample_size=500))
    assert "Change with dose" in page.said
    assert any(one.startswith("Map of 3 samples") for one in page.alternatives)


def test_render_report__names_other_data_and_samples_on_another_scale(
    cell_model, cells_path, tmp_path, undrawn
):
    later = xr.open_zarr(cells_path).isel(sample=slice(3000)).load()
    later["X"].data[:] *= 2
    for variable in later.variables.values():
        variable.encoding.clear()
    later.to_zarr(tmp_path / "later.zarr", consolidated=False)
    with pytest.warns(ConditioningWarning) as warned:
        page = Page(render_report(cell_model, data=tmp_path / "later.zarr", sample_size=500))
    (sentence,) = {str(warning.message) for warning in warned}
    assert sentence[1:] in page.said
    assert page.said.startswith("later - KernelMixture")
    of_fit = Page(render_report(cell_model, data=cells_path, sample_size=500)).said
    assert of_fit.startswith("cells - KernelMixture")
    for said, times in ((page.said, 2), (of_fit, 0)):
        assert said.count("later.zarr (3,000 rows)") == times
    assert "rows 3,000" in page.said.lower()
    assert "rows 30,000" in of_fit.lower()


def test_comparison__refuses_columns_that_it_cannot_adjust_for():
    samples = {"sample": ["sample1", "sample2", "sample3"], "dose": ["0", "1", "2"]}
    with pytest.raises(DataError, match="no column 'donor'"):
        comparison_of(samples, "dose", "donor")
    with pytest.raises(ParameterError, match="donor cannot be used"):
        comparison_of(None, None, ["donor"])
    with pytest.raises(ParameterError, match="5 cannot be used"):
        comparison_of(None, None, reference=5)


def test_render_report__says_what_a_comparison_lacks(fitted_mixture, mixture_data):
    comparison = comparison_of({"sample": ["a"], "dose": ["0"]}, "dose")
    with pytest.raises(ParameterError, match="no data were given"):
        render_report(fitted_mixture, comparison=comparison)
    with pytest.raises(ParameterError, match="no variable sample_id"):
        render_report(fitted_mixture, data=mixture_data, comparison=comparison)
    separated = ICA(2, random_state=0).fit(mixture_data)
    with pytest.raises(ParameterError, match=r"populations.*\(ICA\)"):
        render_report(separated, data=mixture_data, comparison=comparison)


def test_render_report__weighs_the_rows_that_have_labels(cell_model, cells_path, tmp_path, undrawn):
    feature = cell_model.views_.feature_names[0]
    middle = float(xr.open_zarr(cells_path)["X"].sel(feature=feature).mean())
    where = f"`{feature}` > {middle}"
    kept = open_samples(str(cells_path), where=where)
    cell_model.write(kept, tmp_path / "labels.zarr", outputs=("label",))
    labels = tmp_path / "labels.zarr"
    page = Page(render_report(cell_model, data=cells_path, labels=labels, sample_size=500))
    rows = cell_model.weights_by(kept)["rows"].to_numpy()
    assert rows.sum() < 30_000
    assert all(f"{count:,}" in page.said for count in rows)


@pytest.mark.slow
def test_render_report__compares_with_a_named_truth(fitted_mixture, mixture_data):
    half = np.where(np.arange(6000) < 3000, "first half", "")
    data = mixture_data.drop_vars("label").assign(half=("sample", half))
    without = Page(render_report(fitted_mixture, data=data))
    right = "Share of rows with the right class by confidence"
    assert right not in without.alternatives
    assert "the model is right is not known" in without.said
    page = Page(render_report(fitted_mixture, data=data, truth="half"))
    assert right in page.alternatives
    # of one class every labelled row is right: all populations have it, with probability one
    assert "first half 3,000 0, 1, 2 1.000 1.000 1.000" in page.said
    drawing = next(one for one in page.drawings if "expected calibration error" in one)
    assert "expected calibration error 0.000" in drawing


@pytest.mark.slow
def test_render_report__says_nothing_of_cuts_where_none_were_compared(text, merged_text):
    assert "How many populations" not in text
    page = Page(merged_text)
    assert "How many populations" in page.said
    assert "populations that are left after it" in page.said


def test_render_report__loads_nothing_and_runs_nothing(text):
    page = Page(text)
    assert all(one.startswith(("data:image/", "#")) for one in page.addresses)
    assert not {"script", "link", "iframe", "object", "base"} & set(page.tags)
    assert "default-src 'none'" in text
    assert not re.search(r"https?://|url\(|@import", text)
    assert len(page.drawings) >= 8
    for drawing in page.drawings:
        outside = re.sub(r"<!DOCTYPE[^>]*>|xmlns(:\w+)?=\"[^\"]*\"|<metadata>.*?</metadata>", "",
                         drawing, flags=re.DOTALL)  # fmt: skip
        assert not re.search(r"https?://", outside)


@pytest.mark.slow
def test_render_report__is_the_same_twice(text, cell_model, cells_path):
    assert render_report(cell_model, data=cells_path, sample_size=4000) == text


def test_render_report__does_without_data(fitted_mixture, undrawn):
    page = Page(render_report(fitted_mixture))
    assert not any(one.startswith("Components in ") for one in page.alternatives)
    assert sum(one.startswith("Densities of ") for one in page.alternatives) == 4
    assert "labelled" not in page.said
    assert any("values of the pair moments" in one for one in page.alternatives)


@pytest.mark.slow
def test_render_report__says_the_same_of_a_loaded_model(fitted_mixture, mixture_data, tmp_path):
    fitted_mixture.save(tmp_path / "model.zarr")
    loaded = bigtensor.load(tmp_path / "model.zarr")
    before, after = (
        Page(render_report(model, data=mixture_data)) for model in (fitted_mixture, loaded)
    )
    assert after.said == before.said
    assert after.alternatives == before.alternatives


def test_render_report__escapes_what_others_named(mixture_data):
    names = ["<b>CD3</b>", '$CD4_$ & "co"', "</style><script>alert(1)</script>", "IFN\u03b3"]
    data = mixture_data.assign_coords(feature=names)
    data["label"].attrs["categories"] = ["<img src=x>", "b", "c"]
    text = render_report(KernelMixture(3, random_state=0).fit(data), data=data)
    page = Page(text)
    assert "script" not in page.tags
    assert "<b>CD3" not in text
    assert "<img src=x" not in text
    assert all(name in page.said for name in names)
    assert "<img src=x>" in page.said


@pytest.mark.slow
def test_render_report__takes_views_of_several_features(wide_mixture, mixture_data):
    page = Page(render_report(wide_mixture, data=mixture_data))
    first, second = wide_mixture.views_.features[0][1]
    assert f"both ({first}, {second})" in page.said
    assert f"Densities of {second} by component" in page.alternatives


@pytest.mark.slow
def test_render_report__uses_the_labels_that_are_given(fitted_mixture, mixture_data):
    turned = (np.asarray(fitted_mixture.predict(mixture_data)) + 1) % 3
    page = Page(render_report(fitted_mixture, data=mixture_data, labels=turned))
    assert re.search(r"Component \d holds .*, but its weight", page.said)


@pytest.mark.slow
def test_render_report__counts_all_labels_that_a_model_wrote(cell_model, cells_path, tmp_path):
    labels = cell_model.write(cells_path, tmp_path / "labels.zarr")
    page = Page(render_report(cell_model, data=cells_path, labels=labels, sample_size=400))
    counts = np.bincount(xr.open_zarr(labels)["label"].to_numpy(), minlength=4)
    for count in counts:
        assert percent(count / 30_000) in page.said
    assert "Labelled is the share of all rows" in page.said


def test_write_report__appears_whole_or_not_at_all(fitted_mixture, tmp_path, undrawn):
    target = tmp_path / "report.html"
    assert write_report(fitted_mixture, target) == target
    whole = target.read_text(encoding="utf-8")
    assert whole.startswith("<!DOCTYPE html>")
    assert whole.rstrip().endswith("</html>")
    with pytest.raises(OutputError, match="exists already"):
        write_report(fitted_mixture, target)
    target.write_text("old")
    write_report(fitted_mixture, str(target), overwrite=True)
    assert target.read_text(encoding="utf-8") == whole
    assert list(tmp_path.iterdir()) == [target]


def test_write_report__keeps_the_old_file_when_it_fails(fitted_mixture, tmp_path):
    target = tmp_path / "report.html"
    target.write_text("old")
    with pytest.raises(bigtensor.errors.StoreReadError):
        write_report(fitted_mixture, target, data=tmp_path / "none.zarr", overwrite=True)
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_write_report__says_what_is_wrong(fitted_mixture, mixture_data, tmp_path):
    with pytest.raises(OutputError, match="make it first"):
        write_report(fitted_mixture, tmp_path / "none" / "report.html")
    with pytest.raises(OutputError, match="is a folder"):
        write_report(fitted_mixture, tmp_path, overwrite=True)
    with pytest.raises(ParameterError, match="labels was given without data"):
        write_report(fitted_mixture, tmp_path / "report.html", labels=np.zeros(6000, np.int32))
    with pytest.raises(ParameterError, match="truth was given without data"):
        write_report(fitted_mixture, tmp_path / "report.html", truth="label")
    with pytest.raises(NotFittedError):
        write_report(KernelMixture(3), tmp_path / "report.html")


@pytest.mark.parametrize("library", ["matplotlib", "jinja2"])
def test_write_report__names_the_extra_that_is_missing(
    library, fitted_mixture, tmp_path, monkeypatch
):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bigtensor\[report\]'"):
        write_report(fitted_mixture, tmp_path / "report.html")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def merged_text(merged_model, cells_path):
    return render_report(merged_model, data=cells_path, sample_size=4000)


@pytest.mark.slow
def test_render_report__shows_populations_before_components(merged_text, merged_model):
    page = Page(merged_text)
    features = merged_model.views_.feature_names
    densities = [one for one in page.alternatives if one.startswith("Densities of ")]
    assert densities == [f"Densities of {name} by population" for name in features]
    beginnings = [
        "Median of every feature",
        "Shares of 4 populations",
        "Map of 3 samples",
        "Largest drift of every feature",
        "Map of the sampled rows",
        *(f"Densities of {name}" for name in features),
        "How components were merged",
        "Agreement of populations",
    ]
    assert all(map(str.startswith, page.alternatives, beginnings))
    assert sum(one.startswith("Populations in ") for one in page.alternatives) == 10
    for weight in merged_model.population_weights_:
        assert f"{100 * weight:.1f} %" in page.said
    assert re.search(r"30 components\b[^.]*\b4 populations", page.said)
    assert "Populations against the known classes" in page.said
    assert "every population in every sample, in" in page.said
    assert "best population" in page.said


@pytest.mark.slow
def test_render_report__lists_every_component_of_a_population(merged_text, merged_model):
    page = Page(merged_text)
    of_component = merged_model.population_of_component_
    for population in range(4):
        listed = ", ".join(
            f"{h} ({100 * merged_model.weights_[h]:.2f})"
            for h in np.flatnonzero(of_component == population)
        )
        assert listed in page.said.replace("\N{NO-BREAK SPACE}", " ")
    # components are rows of a table that is folded up, and of no other
    assert len(re.findall(r'<th scope="row">\d+</th>', merged_text)) == 4 + 30 + 0


@pytest.mark.slow
def test_render_report__shows_how_components_were_counted(mixture_data):
    model = KernelMixture(random_state=0).fit(mixture_data)
    page = Page(render_report(model))
    assert any("components were counted by" in one for one in page.alternatives)
    assert "3 components were counted" in page.said


@pytest.mark.slow
def test_render_report__shows_how_the_bandwidth_was_chosen(mixture_data):
    model = KernelMixture(
        3, bandwidth="gap", spectral=SpectralOptions(landmarks="cholesky"), random_state=0
    )
    page = Page(render_report(model.fit(mixture_data)))
    assert "Bandwidth of the moments" in page.said
    assert "incomplete Cholesky decomposition" in page.said
    error = model.diagnostics_["landmarks"]["view1"]["trace_error"]
    assert f"{error:.2g}" in page.said


@pytest.mark.slow
def test_render_report__does_before_a_posterior_pass(mixture_data):
    model = KernelMixture(3, random_state=0).prepare(mixture_data)
    model.solve(model.accumulate(mixture_data))
    page = Page(render_report(model, data=mixture_data))
    assert "No posterior pass has refined them." in page.said
    assert "Mean log-likelihood by posterior pass" not in page.alternatives


@pytest.mark.slow
def test_render_report__stays_small_with_many_components(merged_text):
    assert len(merged_text) < 3_000_000
