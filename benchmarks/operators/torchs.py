"""torch.profiler."""

from functools import partial

from torch.profiler import ExecutionTraceObserver, ProfilerActivity, profile

from benchmarks.harness import Contender
from benchmarks.operator_cost import TRAINING
from benchmarks.operators import COUNT, execution_trace, operator_name, run_operators
from benchmarks.operators.training import STEPS, run_steps


def contenders() -> list[Contender]:
    return [
        Contender("nobody, after torch's sessions", run_operators, count=COUNT),
        *(
            Contender(
                operator_name("torch.profiler", with_shapes=shapes),
                run_operators,
                partial(profile, activities=[ProfilerActivity.CPU], record_shapes=shapes),
                count=COUNT,
            )
            for shapes in (False, True)
        ),
        Contender("nobody, after torch's sessions" + TRAINING, run_steps, count=STEPS),
        *(
            Contender(
                operator_name("torch.profiler", with_shapes=shapes) + TRAINING,
                run_steps,
                partial(profile, activities=[ProfilerActivity.CPU], record_shapes=shapes),
                count=STEPS,
            )
            for shapes in (False, True)
        ),
        Contender(
            "torch.profiler, execution trace",
            run_operators,
            partial(execution_trace, ExecutionTraceObserver),
            count=COUNT,
        ),
    ]
