"""The host's work under Kinetograph, and under what nobody can do without."""

from benchmarks.gpu import training_ours
from benchmarks.gpu.host_work import HostWork
from benchmarks.gpu.ours import KERNEL_FLOOR, LAUNCH_FLOOR, NOTHING
from benchmarks.gpu.training_ours import BOTH_FLOOR, OPERATOR_FLOOR, OURS, OURS_WITH_OPERATORS

FLOORS = (KERNEL_FLOOR, LAUNCH_FLOOR, OPERATOR_FLOOR, BOTH_FLOOR)
TOOLS = (NOTHING, *FLOORS, OURS, OURS_WITH_OPERATORS)


def contenders() -> list[HostWork]:
    return [HostWork(each) for each in training_ours.contenders() if each.tool in TOOLS]
