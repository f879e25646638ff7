"""Fork while the recorder asks Python code of the program for the text of a scope's arguments."""

import json
import os

import kinetograph as kg


class ForksWhenSpelled:
    child = -1

    def __repr__(self) -> str:
        ForksWhenSpelled.child = os.fork()
        return "forked"


kg.enable_profiler(all_threads=True)
with kg.scope("parent", value=ForksWhenSpelled()):
    pass
if ForksWhenSpelled.child == 0:
    for _ in range(1000):
        with kg.scope("child", value=1):
            pass
    kg.enable_profiler()
    with kg.scope("of its own", value=1):
        pass
    os._exit(0 if [event.name for event in kg.disable_profiler().events] == ["of its own"] else 1)
_pid, status = os.waitpid(ForksWhenSpelled.child, 0)
events = [(event.name, event.args) for event in kg.disable_profiler().events]
print(json.dumps({"child": status, "events": events}))
