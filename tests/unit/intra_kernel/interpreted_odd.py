"""Run by a test in Triton's interpreter: each odd kernel, and what it recorded or how it failed, as JSON."""

import itertools
import json
import time
from types import SimpleNamespace

import odd_kernels
import torch

from kinetograph.intra_kernel import triton_interpreted
from kinetograph.intra_kernel.triton import alloc_profiler_buffer, load_profiler_buffer

source = torch.arange(64, dtype=torch.float32)
told = {}
for name, kernel in list(vars(odd_kernels).items()):
    if not hasattr(kernel, "fn") or kernel.arg_names != ["buffer", "source", "number"]:
        continue
    buffer = alloc_profiler_buffer(100)
    try:
        kernel[(1,)](buffer, source, 4)
    except Exception as error:
        told[name] = str(error.__cause__ or error)
    else:
        events = load_profiler_buffer(buffer).events
        told[name] = [(event.name, event.args.get("payload")) for event in events]
try:
    odd_kernels.first_thread_leads[(1,)](source, source, 4)
except Exception as error:
    told["no buffer"] = str(error.__cause__ or error)
# Each look at the clock is ten seconds later.
slow = itertools.count(time.time_ns(), 10_000_000_000)
vars(triton_interpreted)["time"] = SimpleNamespace(time_ns=slow.__next__)
buffer = alloc_profiler_buffer(100)
odd_kernels.one_range[(1,)](buffer, source, 4)
told["slow"] = [event.duration_ns for event in load_profiler_buffer(buffer).events]
print(json.dumps(told))
