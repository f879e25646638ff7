"""torch.profiler."""

from functools import partial

from torch.profiler import ProfilerActivity, profile

from benchmarks.harness import Contender
from benchmarks.operators import COUNT, operator_name, run_operators


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
    ]
