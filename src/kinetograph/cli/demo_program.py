"""The program that `kinetograph demo` profiles: a small image pipeline, as one meets them.

Pictures are fetched by asyncio tasks that wait at the same time, decoded by a pool of threads, and counted.
It shows scopes inside scopes, decorated functions, marks, counters, threads and tasks.
"""

from __future__ import annotations

import asyncio
import hashlib
import zlib
from concurrent.futures import ThreadPoolExecutor

import kinetograph as kg

__all__ = ["run_pipeline"]

PICTURES = 12
BATCH = 4


async def fetch(number: int) -> bytes:
    """What a download is to the event loop: a wait between two bits of work."""
    with kg.scope("fetch", picture=number):
        with kg.scope("request"):
            seed = hashlib.sha256(str(number).encode()).digest()
        await asyncio.sleep(0.002 + 0.001 * (number % 3))
        with kg.scope("receive"):
            return zlib.compress(seed * 4096, level=1)


async def fetch_batch(numbers: range) -> list[bytes]:
    with kg.scope("fetch batch"):
        return await asyncio.gather(*(fetch(number) for number in numbers))


@kg.scope("decode")
def decode(packed: bytes) -> bytes:
    with kg.scope("inflate"):
        pixels = zlib.decompress(packed)
    with kg.scope("sharpen"):
        return bytes(pixel ^ 0x55 for pixel in pixels[:60_000])


@kg.scope("reduce")
def reduce_batch(pictures: list[bytes]) -> int:
    with kg.scope("histogram"):
        return sum(len(set(picture)) for picture in pictures)


def run_pipeline() -> int:
    """Work through all pictures; returns the number of shades found in them."""
    shades = 0
    with kg.scope("pipeline"), ThreadPoolExecutor(max_workers=3, thread_name_prefix="decoder") as pool:
        for first in range(0, PICTURES, BATCH):
            packed = asyncio.run(fetch_batch(range(first, first + BATCH)))
            kg.counter("bytes fetched", sum(map(len, packed)))
            with kg.scope("wait for decoders"):
                pictures = list(pool.map(decode, packed))
            shades += reduce_batch(pictures)
            kg.mark(f"batch {first // BATCH} done")
    return shades
