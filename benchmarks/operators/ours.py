"""Kinetograph."""

from functools import partial

import kinetograph as kg
from benchmarks.harness import Contender
from benchmarks.operator_cost import TRAINING
from benchmarks.operators import COUNT, execution_trace, operator_name, run_operators
from benchmarks.operators.training import STEPS, run_steps


def contenders() -> list[Contender]:
    return [
        Contender("nobody, after our sessions", run_operators, count=COUNT),
        *(
            Contender(
                operator_name("kinetograph", with_shapes=shapes),
                run_operators,
                partial(kg.profile, record_shapes=shapes, frameworks=["torch"]),
                count=COUNT,
            )
            for shapes in (False, True)
        ),
        Contender("nobody, after our sessions" + TRAINING, run_steps, count=STEPS),
        *(
            Contender(
                operator_name("kinetograph", with_shapes=shapes) + TRAINING,
                run_steps,
                partial(kg.profile, record_shapes=shapes, frameworks=["torch"]),
                count=STEPS,
            )
            for shapes in (False, True)
        ),
        Contender(
            "kinetograph, execution trace",
            run_operators,
            partial(execution_trace, kg.ExecutionTraceObserver),
            count=COUNT,
        ),
    ]
