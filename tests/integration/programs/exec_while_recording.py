"""exec in the middle of a session, into a Python that records as well."""

from __future__ import annotations

import json
import os
import sys

import kinetograph as kg
from kinetograph import _native

if len(sys.argv) == 1:
    kg.enable_profiler(kg.ProfilerConfig(recording=kg.RecordOptions(path="never-written.json")))
    kg.mark("before exec")
    os.execv(sys.executable, [sys.executable, __file__, str(len(os.listdir("/proc/self/fd")))])
before = {"recording": _native.is_recording(), "sessions": _native.sessions()}
kg.enable_profiler()
kg.mark("after exec")
names = [event.name for event in kg.disable_profiler().events]
print(json.dumps(before | {"own": names}))
