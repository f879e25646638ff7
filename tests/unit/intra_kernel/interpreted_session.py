"""Run by a test in Triton's interpreter: the kernel `copy` on three blocks, twice within a session."""

import sys

import torch
from kernels import copy

import kinetograph as kg
from kinetograph.intra_kernel.triton import ProfilerBuffer, alloc_profiler_buffer

source, target = torch.arange(20, dtype=torch.float32), torch.zeros(20)
names = ["perfect", "non-perfect"]
outside = alloc_profiler_buffer(100, task_names=names)
copy[(3,)](outside, source, target, 1, 20, SIZE=8, RECORDS=1)
with kg.profile() as p:
    copy[(3,)](outside, source, target, 0, 20, SIZE=8, RECORDS=1)
    with ProfilerBuffer(100, sys.argv[2], names) as exported:
        copy[(3,)](exported, source, target, 1, 20, SIZE=8, RECORDS=1)
p.trace.save(sys.argv[1])
