"""Scopes as NVTX ranges, for a client of CUPTI: arguments are the client, libcupti and where markers go."""

from __future__ import annotations

import ctypes
import sys

import torch

import kinetograph as kg

client_path, cupti, output = sys.argv[1:]

torch.zeros(8, device="cuda").add_(1)
torch.cuda.synchronize()
client = ctypes.CDLL(client_path)
assert client.client_start(cupti.encode(), output.encode()) == 0
assert kg.nvtx.is_listening()
with kg.emit_nvtx(), kg.scope("step"), kg.scope("load", payload=3):
    torch.zeros(8, device="cuda").add_(1)
    kg.mark("here")
torch.cuda.synchronize()
assert client.client_stop() == 0
