"""Makes annotations by PyPI's nvtx in every way that has; the trace goes to the path that is given."""

import sys
import threading

import numpy
import nvtx

import kinetograph as kg

kg.nvtx.install()

POINT = numpy.dtype([("x", numpy.int32), ("weights", numpy.float64, (2,)), ("name", "S8")])


def by_functions() -> None:
    nvtx.push_range("pushed", color="red", domain="functions", category="first", payload=7)
    nvtx.push_range("inner", domain="functions")
    nvtx.pop_range(domain="functions")
    nvtx.pop_range(domain="functions")
    started = nvtx.start_range("started", domain="functions", payload=2.5)
    nvtx.mark("marked", color=0x00FF00, domain="functions", category="second", payload=-1)
    nvtx.end_range(started)


def without_a_domain() -> None:
    with nvtx.annotate("plain"):
        pass


@nvtx.annotate("decorated", domain="decorators")
def decorated() -> None:
    pass


def by_domain() -> None:
    domain = nvtx.get_domain("domains")
    attributes = domain.get_event_attributes(message="with attributes", color="blue", category="third")
    domain.push_range(attributes)
    domain.mark(domain.get_event_attributes(message="within"))
    domain.pop_range()
    number = domain.start_range(domain.get_event_attributes(message="numbered"))
    domain.end_range(number)


def with_arrays() -> None:
    point = numpy.array((3, (0.5, -1.0), b"point"), dtype=POINT)
    with nvtx.annotate("structure", domain="arrays", payload=point):
        pass
    with nvtx.annotate("array", domain="arrays", payload=numpy.arange(4, dtype=numpy.uint16)):
        pass
    with nvtx.annotate("list", domain="arrays", payload=[1.5, 2.5]):
        pass


def with_counters() -> None:
    counters = nvtx.get_domain("counters")
    whole = counters.get_counter("whole", int)
    whole.sample(3)
    whole.sample(-4)
    counters.get_counter("real", float).sample(0.25)
    group = counters.get_counter("group", numpy.dtype([("a", numpy.int32), ("b", numpy.float32)]))
    group.sample(numpy.array((1, 0.5), dtype=[("a", numpy.int32), ("b", numpy.float32)]))
    counters.get_counter("small", numpy.int8).sample(numpy.int8(-5))
    counters.get_counter("short", numpy.uint16).sample(numpy.uint16(65535))
    times = [counters.get_timestamp() for _ in range(2)]
    counters.get_counter("batch", int).batch_submit([10, 20], times)


def crossing() -> None:
    nvtx.push_range("a", domain="A")
    nvtx.push_range("b", domain="B")
    nvtx.pop_range(domain="A")
    nvtx.pop_range(domain="B")


def across_threads() -> None:
    started = nvtx.start_range("from thread to thread", domain="threads")
    ending = threading.Thread(target=nvtx.end_range, args=(started,), name="ending")
    ending.start()
    ending.join()
    nvtx.start_range("never ended", domain="threads")


def many_threads() -> None:
    def annotate(number: int) -> None:
        for i in range(200):
            with nvtx.annotate(f"of thread {number}", domain="many", payload=i):
                pass

    threads = [threading.Thread(target=annotate, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def all_of_it() -> None:
    by_functions()
    without_a_domain()
    decorated()
    by_domain()
    with_arrays()
    with_counters()
    crossing()
    across_threads()
    many_threads()


nvtx.push_range("begun before", domain="outer")
with kg.profile() as p:
    nvtx.pop_range(domain="outer")
    all_of_it()
    nvtx.push_range("open", domain="outer")
nvtx.pop_range(domain="outer")
p.export_chrome_trace(sys.argv[1])
