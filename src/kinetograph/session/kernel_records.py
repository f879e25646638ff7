"""What kernels recorded of themselves, between reading the buffers and the trace; also in a file.

Such a file lies beside the session file of a process whose trace another process makes. It is a line of
JSON, and behind it the bytes of all buffers.
"""

from __future__ import annotations

import os

from kinetograph.hints import Any
from kinetograph.intra_kernel.live import Contents

__all__ = ["KernelRecords", "read_kernel_records", "write_kernel_records"]


Measured = tuple[int, int, int, int]
"""A device, its time, what has to be added to that to make it wall time, and how wrong this may be."""


class KernelRecords:
    """As `join_intra_kernel` takes them."""

    def __init__(self, contents: list[Contents], measured: list[Measured]) -> None:
        self.contents = contents
        self.measured = measured


def write_kernel_records(path: str, records: KernelRecords) -> None:
    """All or nothing: whoever finds the file finds it complete."""
    import json

    buffers: list[dict[str, Any]] = [
        {"size_bytes": memoryview(data).nbytes, "task_names": names, "device": device}
        for data, names, device in records.contents
    ]
    with open(path + ".part", "wb") as file:
        file.write(json.dumps({"measured": records.measured, "buffers": buffers}).encode() + b"\n")
        for data, _names, _device in records.contents:
            file.write(data)
    os.replace(path + ".part", path)


def read_kernel_records(path: str) -> KernelRecords:
    import json

    with open(path, "rb") as file:
        header = json.loads(file.readline())
        contents: list[Contents] = [
            (file.read(buffer["size_bytes"]), buffer["task_names"], buffer["device"])
            for buffer in header["buffers"]
        ]
    return KernelRecords(contents, [(*each,) for each in header["measured"]])
