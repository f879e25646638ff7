"""Looking into a process while it runs: the agent in it, and those who ask it.

>>> kg.start_agent()
>>> kg.ondemand.register_client(MyClient())
"""

from __future__ import annotations

import os

from kinetograph.hints import TYPE_CHECKING
from kinetograph.late import late_names

if TYPE_CHECKING:
    from kinetograph.ondemand.names import *  # noqa: F403
else:
    __getattr__, __dir__ = late_names(__name__)


def start_agent(*, directories: tuple[str, ...] = (), ring_seconds: float | None = None) -> str:
    """Let `kinetograph ps` and `kinetograph capture` find this process; gives the path of its socket.

    >>> kg.start_agent()
    '/run/user/1000/kinetograph/agent-4711-0badcafe.sock'

    `KINETOGRAPH_AGENT=1` in the environment does the same before the program's first line. Traces are written
    to a directory of our own, or, where a request asks for it, to one of `directories`. `ring_seconds`
    records all the time, and keeps the newest so many seconds for a dump. The second call changes nothing.
    Forked children get an agent of their own.
    """
    from kinetograph.ondemand.agent import start

    return start(directories, ring_seconds)


# One look at the environment, as all programs pay for it.
if "KINETOGRAPH_AGENT" in os.environ or "KINETO_USE_DAEMON" in os.environ:
    from kinetograph.ondemand.agent import start_as_told

    start_as_told()
