"""scikit-learn's callbacks and the project's own listeners follow the passes of a fit."""

import pytest
from sklearn.base import clone

from bigtensor import DiscreteMixture, KernelMixture, simulate
from bigtensor.errors import DataError

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has callbacks from 1.9")


class Recorder:
    """A callback that notes what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def setup(self, estimator, context):
        self._note("setup", estimator, context)

    def on_fit_task_begin(self, estimator, context):
        self._note("begin", estimator, context)

    def on_fit_task_end(self, estimator, context):
        self._note("end", estimator, context)

    def teardown(self, estimator, context):
        self._note("teardown", estimator, context)

    def _note(self, hook, estimator, context):
        assert isinstance(estimator, KernelMixture)
        self.told.append((hook, context.task_name))


@pytest.fixture
def mixture(small):
    return KernelMixture(3, **small)


def test_hooks__are_called_for_every_pass_and_part(mixture, data):
    recorder = Recorder()
    mixture.set_callbacks(recorder).fit(data)
    steps = ("preparing the features", "decomposing the moments")
    told = [entry for entry in recorder.told if entry[1] not in ("part", *steps)]
    passes = [entry["name"] for entry in mixture.diagnostics_["passes"]]
    assert passes == ["pilot", "moments", "posterior 1", "posterior 2"]
    inner = [(hook, name) for name in passes for hook in ("begin", "end")]
    assert told == [
        ("setup", "fit"),
        ("begin", "fit"),
        *inner,
        ("end", "fit"),
        ("teardown", "fit"),
    ]
    parts = sum(entry["parts"] for entry in mixture.diagnostics_["passes"])
    assert recorder.told.count(("begin", "part")) == parts
    assert recorder.told.count(("end", "part")) == parts
    for step in steps:
        place = recorder.told.index(("begin", step))
        assert recorder.told[place + 1] == ("end", step)


def test_callbacks__are_torn_down_after_an_error(mixture, data):
    recorder = Recorder()
    constant = data.copy(deep=True)
    constant["X"].loc[{"feature": "view1"}] = 1.0
    with pytest.raises(DataError, match="'view1'"):
        clone(mixture).set_params(init="spectral").set_callbacks(recorder).fit(constant)
    assert recorder.told[-1] == ("teardown", "fit")
    assert ("end", "fit") not in recorder.told


def test_callbacks__change_no_bit(mixture, data, model):
    fitted = clone(mixture).set_callbacks(Recorder()).fit(data)
    assert fitted.weights_.tobytes() == model.weights_.tobytes()


@pytest.mark.parametrize("start", ["spectral", "kmeans"])
def test_progress_bar__shows_the_passes(mixture, data, capsys, start):
    mixture.set_params(init=start).set_callbacks(callback.ProgressBar()).fit(data)
    shown = capsys.readouterr().out
    assert "KernelMixture" in shown
    assert "posterior 1" in shown


def test_listeners__are_told_of_every_event(mixture, data):
    events = []
    mixture.fit(data, listeners=[events.append])
    finished = [event for event in events if event.kind == "pass finished"]
    assert [event.name for event in finished] == [
        entry["name"] for entry in mixture.diagnostics_["passes"]
    ]
    assert all(event.rows == event.total_rows == 4000 for event in finished)


def test_listeners__hear_of_every_step_of_a_choice():
    data = simulate.discrete_mixture(2000, 2, n_categories=4, random_state=1)
    events = []
    model = DiscreteMixture().fit(data, listeners=[events.append])
    told = [(event.kind, event.name, event.parts, event.total_parts) for event in events]
    numbers = model.diagnostics_["component_choice"]["held_out_log_likelihood"]
    # of at most 63 probabilities and 9 parameters a component
    assert [entry for entry in told if "number of components" in entry[1]] == [
        ("step started", "choosing the number of components", 0, 0),
        *(
            ("step advanced", "choosing the number of components", part + 1, 6)
            for part in range(len(numbers))
        ),
        ("step finished", "choosing the number of components", 0, 0),
    ]
    ridges = [entry[2:] for entry in told if entry[:2] == ("step advanced", "choosing the ridge")]
    assert ridges == [(1, 3), (2, 3), (3, 3)]
    # the last step ends with the fit, and steps are no passes
    assert told[-1] == ("step finished", "estimating the mixture", 0, 0)
    assert [entry["name"] for entry in model.diagnostics_["passes"]] == ["counts"]
    seconds = [event.seconds for event in events if event.name == events[-1].name]
    assert 0 <= seconds[0] < seconds[-1]
