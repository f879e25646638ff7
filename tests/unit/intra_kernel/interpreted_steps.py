"""Run by a test in Triton's interpreter: the kernel `steps`, its trace in a file."""

import sys

import torch
from kernels import steps
from recorded_events import NAMES

from kinetograph.intra_kernel.triton import alloc_profiler_buffer, load_profiler_buffer

source = torch.arange(12, dtype=torch.float32)
target = torch.zeros(12)
buffer = alloc_profiler_buffer(1000)
steps[(3,)](buffer, source, target, 0, SIZE=4)
assert torch.equal(target, source * 8)
load_profiler_buffer(buffer, NAMES).save(sys.argv[1])
