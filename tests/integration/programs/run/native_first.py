"""A thread that annotates natively before it has a scope, and has ended before anybody looks for its name."""

import threading

import kinetograph as kg


def work() -> None:
    kg.itt.mark("by ITT")
    with kg.scope("scope"):
        pass


thread = threading.Thread(target=work, name="named")
thread.start()
thread.join()
