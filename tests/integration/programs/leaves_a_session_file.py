"""Record a little of everything into a session file and end without stopping."""

from __future__ import annotations

import asyncio
import os
import sys
import threading

import kinetograph as kg

config = kg.ProfilerConfig(recording=kg.RecordOptions(crash_safe=True, directory=sys.argv[1]))
kg.enable_profiler(config, all_threads=True)


def work(rounds: int) -> None:
    for number in range(rounds):
        with kg.scope("outer", number=number), kg.scope(f"inner {number}"):
            kg.mark("mark")
        kg.counter("number", number)


async def tasks() -> None:
    async def one() -> None:
        with kg.scope("task"):
            await asyncio.sleep(0)

    await asyncio.gather(*(one() for _ in range(5)))


thread = threading.Thread(target=work, args=(100,), name="worker")
thread.start()
thread.join()
work(300)
asyncio.run(tasks())
kg.report_event("kernel", 1, 2, kg.DeviceType.VULKAN)
kg.scope("open").__enter__()
kg.scope("open inside").__enter__()
os._exit(0)
