"""Where the host's work for a training step takes longer: with operators, with CUDA, or only with both."""

from __future__ import annotations

from benchmarks.gpu import describe_gpu, training_ours
from benchmarks.gpu.host import model_table
from benchmarks.gpu.host_work import HostWork
from benchmarks.gpu.models import SMALL_MODELS
from benchmarks.gpu.ours import LAUNCH_FLOOR, NOTHING
from benchmarks.gpu.training import Training
from benchmarks.gpu.training_ours import BOTH_FLOOR, OPERATOR_FLOOR, OURS, OURS_WITH_OPERATORS
from benchmarks.harness import interleave

OURS_ON_HOST = "kinetograph, operators alone"
TOOLS = (NOTHING, OPERATOR_FLOOR, OURS_ON_HOST, LAUNCH_FLOOR, OURS, BOTH_FLOOR, OURS_WITH_OPERATORS)


def contenders() -> list[HostWork]:
    import kinetograph as kg

    known = [each for each in training_ours.contenders() if each.tool in TOOLS]
    on_host = [
        Training(OURS_ON_HOST, model, lambda: kg.profile(activities=["cpu"]), scope=kg.scope)
        for model in SMALL_MODELS
    ]
    return [HostWork(each) for each in known + on_host]


def run(*, quick: bool) -> str:
    samples = interleave([__name__], generations=1, rounds=2 if quick else 30)
    title = "# The parts of the host's work for a training step"
    return "\n\n".join(
        [title, describe_gpu(), *(model_table(samples, model, TOOLS) for model in SMALL_MODELS)]
    )
