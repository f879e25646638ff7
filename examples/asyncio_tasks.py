"""Interleaved tasks keep their own nesting: each task that opens a scope gets a lane."""

import asyncio

import kinetograph as kg


@kg.scope("fetch")
async def fetch(number: int) -> None:
    with kg.scope("connect", number=number):
        await asyncio.sleep(0.001)
    with kg.scope("read", number=number):
        await asyncio.sleep(0.002)


async def main() -> None:
    await asyncio.gather(*(fetch(number) for number in range(3)))


kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU})
asyncio.run(main())
result = kg.disable_profiler()

for event in result.events:
    print(f"{event.name:8} {event.duration_ns / 1e6:6.2f} ms")
result.save("asyncio_tasks.json")
