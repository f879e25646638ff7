"""The standard library's profiler, which adds up instead of recording."""

from cProfile import Profile

from benchmarks.traced import Traced, in_all_programs


def contenders() -> list[Traced]:
    return [
        *in_all_programs("cProfile", Profile),
        *in_all_programs("cProfile, builtins=False", lambda: Profile(builtins=False)),
    ]
