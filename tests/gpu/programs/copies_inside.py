"""The guide's copy with records, three times; it knows nothing of sessions. The argument is its folder."""

from __future__ import annotations

import sys

import torch

sys.path.append(sys.argv[1])

from intra_kernels import copy_kernel

from kinetograph.intra_kernel.triton import alloc_profiler_buffer

source = torch.arange(16 * 1024, dtype=torch.float32, device="cuda")
target = torch.zeros_like(source)
buffer = alloc_profiler_buffer(10_000, 32, task_names=["load", "store"])
for _ in range(3):
    copy_kernel[(16,)](buffer, source, target, 16 * 1024, SIZE=1024, RECORDS=True)
torch.cuda.synchronize()
