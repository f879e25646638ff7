"""Nothing at all, and a callback that stores two reads of the clock."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from benchmarks.harness import Contender
from benchmarks.operator_cost import TRAINING
from benchmarks.operators import COUNT, native, operator_name, run_operators
from benchmarks.operators.training import STEPS, run_steps


@contextmanager
def watched(needs_inputs: bool) -> Iterator[None]:
    native().watch(needs_inputs)
    try:
        yield
    finally:
        native().watch_no_more()


def contenders() -> list[Contender]:
    return [
        Contender("nobody", run_operators, count=COUNT),
        *(
            Contender(
                operator_name("bare callback", with_shapes=shapes),
                run_operators,
                partial(watched, shapes),
                count=COUNT,
            )
            for shapes in (False, True)
        ),
        Contender("nobody" + TRAINING, run_steps, count=STEPS),
        Contender("bare callback" + TRAINING, run_steps, partial(watched, False), count=STEPS),
    ]
