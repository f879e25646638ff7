"""Ranges of other people's C by NVTX, recorded by us, beside the same ranges told to our C table."""

import ctypes
from pathlib import Path

import kinetograph as kg
from benchmarks.floor import load_annotations
from benchmarks.harness import Contender

kg.nvtx.install()  # before the first range, which is what loads the injection


def contenders() -> list[Contender]:
    loops = load_annotations()
    recorder = ctypes.CDLL(str(Path(kg._native.__file__).parent / "libkinetograph.so"))
    if not loops.prepare(recorder.kinetograph_record_table_for):
        raise ImportError("the loops were built for another recorder: delete benchmarks/out")

    def contender(name: str, loop: str, *, recorded: bool) -> Contender:
        session = {"session": kg.profile} if recorded else {}
        return Contender(name, getattr(loops, loop), baseline=loops.empty, count=200_000, **session)

    return [
        contender("C table: begin and end, recorded", "begin_end", recorded=True),
        contender("NVTX: push and pop, recorded", "push_pop", recorded=True),
        contender("NVTX: registered text in a domain, recorded", "push_pop_registered", recorded=True),
        contender("NVTX: colour and category, recorded", "push_pop_coloured", recorded=True),
        contender("NVTX: push and pop, nobody records", "push_pop", recorded=False),
    ]
