"""Callbacks of scikit-learn, which has them since version 1.9."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar, cast

from bigtensor.engine.events import Event, Listener

__all__ = ["CallbackSupport", "callback_listener", "with_callbacks"]

_Fit = TypeVar("_Fit", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupport
    from sklearn.callback import with_callbacks as _with_callbacks
except ImportError:
    _with_callbacks = None

    class CallbackSupport:  # type: ignore[no-redef]
        """Nothing: this version of scikit-learn has no callbacks."""


def with_callbacks(fit: _Fit) -> _Fit:
    """Return a method `fit` that calls callbacks, where scikit-learn has them."""
    return fit if _with_callbacks is None else cast("_Fit", _with_callbacks(fit))


@contextmanager
def callback_listener(model: Any) -> Iterator[Listener]:
    """Turn events into scikit-learn's callback hooks: a task a pass or step, a subtask a part."""
    if not hasattr(model, "_init_callback_context"):
        yield _ignore
        return
    context = model._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=model)
    running: dict[str, Any] = {}

    def listen(event: Event) -> None:
        if event.kind == "pass started":
            running["pass"] = context.subcontext(
                task_name=event.name, max_subtasks=event.total_parts
            ).call_on_fit_task_begin(estimator=model)
        elif event.kind == "part finished":
            part = running["pass"].subcontext(task_name="part")
            part.call_on_fit_task_begin(estimator=model).call_on_fit_task_end(estimator=model)
        elif event.kind == "pass finished":
            running["pass"].call_on_fit_task_end(estimator=model)
        elif event.kind == "step started":
            running["step"] = context.subcontext(task_name=event.name, max_subtasks=0)
            running["step"].call_on_fit_task_begin(estimator=model)
        elif event.kind == "step finished":
            running["step"].call_on_fit_task_end(estimator=model)

    yield listen
    context.call_on_fit_task_end(estimator=model)


def _ignore(event: Event) -> None:
    """Take no notice of an event."""
