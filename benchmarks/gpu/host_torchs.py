"""The host's work under torch.profiler."""

from benchmarks.gpu import training_torchs
from benchmarks.gpu.host_work import HostWork
from benchmarks.gpu.training_torchs import TORCH_BOTH


def contenders() -> list[HostWork]:
    return [HostWork(each) for each in training_torchs.contenders() if each.tool == TORCH_BOTH]
