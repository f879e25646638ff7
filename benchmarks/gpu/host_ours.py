"""The host's work under Kinetograph, and under what nobody can do without."""

from benchmarks.gpu import training_ours
from benchmarks.gpu.host_work import HostWork
from benchmarks.gpu.ours import NOTHING
from benchmarks.gpu.training_ours import BOTH_FLOOR, OURS_WITH_OPERATORS

# Few, for many rounds: from one to the next a busy host takes a third longer for the same step.
TOOLS = (NOTHING, BOTH_FLOOR, OURS_WITH_OPERATORS)


def contenders() -> list[HostWork]:
    return [HostWork(each) for each in training_ours.contenders() if each.tool in TOOLS]
