"""Run by a test in Triton's interpreter: the kernel `copy` on three blocks, twice, and once unrecorded."""

import sys

import torch
from kernels import copy

from kinetograph.intra_kernel.triton import ProfilerBuffer, set_export_trace_off, set_export_trace_on

path, slots_per_segment = sys.argv[1], int(sys.argv[2])
source = torch.arange(20, dtype=torch.float32)
target = torch.zeros(20)
names = ["perfect", "non-perfect"]
buffer = ProfilerBuffer(100, path, names, slots_per_segment=slots_per_segment)
for is_exporting in (True, False, True):
    (set_export_trace_on if is_exporting else set_export_trace_off)()
    target.zero_()
    with buffer as profile_buffer:
        copy[(3,)](profile_buffer, source, target, 1, 20, SIZE=8, RECORDS=1)
    assert torch.equal(target, source * 2)
