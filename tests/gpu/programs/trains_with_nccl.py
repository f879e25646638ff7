"""A step of distributed training, seen by all we have and by torch's own: `trains_with_nccl.py FOLDER`."""

import sys
from pathlib import Path

import kinetograph as kg

kg.nvtx.install()

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

FOLDER = Path(sys.argv[1])
BOTH = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.wide = torch.nn.Linear(64, 256)
        self.narrow = torch.nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.narrow(torch.relu(self.wide(x)))


dist.init_process_group("nccl", rank=0, world_size=1, init_method=f"file://{FOLDER}/store")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(Block(), Block()).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
batch = torch.randn(32, 64, device="cuda")
metric = torch.zeros(1, device="cuda")


def train() -> None:
    optimizer.zero_grad()
    loss = model(batch).square().mean()
    loss.backward()
    optimizer.step()
    torch.cuda.nvtx.range_push("report")
    metric.copy_(loss.detach())
    dist.all_reduce(metric, op=dist.ReduceOp.AVG)
    torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()


train()
train()
with kg.profile(
    activities=["cpu", "cuda"], with_stack=True, with_modules=True, record_shapes=True
) as profile:
    train()
profile.export_chrome_trace(FOLDER / "ours.json")

observers = {
    "ours": kg.ExecutionTraceObserver().register_callback(FOLDER / "ours.et.json"),
    "theirs": torch.profiler.ExecutionTraceObserver().register_callback(str(FOLDER / "theirs.et.json")),
}
for observer in observers.values():
    observer.start()
train()
for observer in observers.values():
    observer.stop()
    observer.unregister_callback()

with torch.profiler.profile(activities=BOTH, record_shapes=True) as theirs:
    train()
theirs.export_chrome_trace(str(FOLDER / "theirs.json"))
dist.destroy_process_group()
