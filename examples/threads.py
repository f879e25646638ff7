"""All threads in one trace: a pool of workers, each on a track of its own."""

from concurrent.futures import ThreadPoolExecutor

import kinetograph as kg


def work(number: int) -> int:
    with kg.scope("work", item=number):
        return sum(i * i for i in range(20_000))


kg.enable_profiler(kg.ProfilerConfig(), {kg.ActivityType.CPU}, all_threads=True)
with ThreadPoolExecutor(max_workers=3, thread_name_prefix="worker") as pool:
    list(pool.map(work, range(12)))
result = kg.disable_profiler()

threads = {event.thread_id for event in result.events if event.name == "work"}
print(f"12 pieces of work on {len(threads)} threads")
result.save("threads.json")
