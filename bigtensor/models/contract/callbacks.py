"""Events of a fit as scikit-learn's callback hooks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol


class PassEvent(Protocol):
    """Event of the engine, as far as the hooks need it."""

    @property
    def kind(self) -> str:
        """Kind of the event: start or end of a pass or a step, or one of their parts."""

    @property
    def name(self) -> str:
        """The name of the pass or of the step."""

    @property
    def total_parts(self) -> int:
        """Parts of the pass."""


@contextmanager
def callback_listener(model: Any) -> Iterator[Callable[[PassEvent], None]]:
    """Turn events into scikit-learn's callback hooks: a task a pass or step, a subtask a part."""
    context = model._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=model)
    running: dict[str, Any] = {}

    def listen(event: PassEvent) -> None:
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
