"""Makes annotations by PyPI's ittapi in every way that has; the trace goes to the path that is given."""

import sys
import threading

import ittapi

import kinetograph as kg

kg.itt.install()


@ittapi.task(domain="decorators")
def decorated() -> None:
    pass


def nested() -> None:
    with ittapi.task("outer", domain="tasks"), ittapi.task("inner", domain="tasks"):
        pass
    ittapi.task_begin(ittapi.domain("low level"), ittapi.string_handle("by hand"))
    ittapi.task_end(ittapi.domain("low level"))


def overlapped() -> None:
    domain = ittapi.domain("overlapped")
    first, second = ittapi.id(domain), ittapi.id(domain)
    ittapi.task_begin_overlapped(domain, ittapi.string_handle("first"), first)
    ittapi.task_begin_overlapped(domain, ittapi.string_handle("second"), second)
    ittapi.task_end_overlapped(domain, first)
    ending = threading.Thread(target=ittapi.task_end_overlapped, args=(domain, second))
    ending.start()
    ending.join()


def events() -> None:
    with ittapi.event("event"):
        pass
    point = ittapi.event("point")
    point.begin()
    point.begin()
    point.end()


def paused() -> None:
    ittapi.pause()
    with ittapi.task("not wanted", domain="tasks"):
        pass
    ittapi.resume()


def in_a_thread() -> None:
    def work() -> None:
        ittapi.thread_set_name("named by ITT")
        with ittapi.task("in a thread", domain="tasks"):
            pass

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


with kg.profile() as p:
    decorated()
    nested()
    overlapped()
    events()
    paused()
    in_a_thread()
p.export_chrome_trace(sys.argv[1])
