"""Import kinetograph in a second interpreter while the first one records."""

import json
import sys

import kinetograph as kg

if sys.version_info >= (3, 13):
    import _interpreters as interpreters
else:
    import _xxsubinterpreters as interpreters

kg.enable_profiler()
with kg.scope("before"):
    pass
other = interpreters.create()
try:
    # 3.13 returns the exception, the versions before raise it.
    refusal = interpreters.run_string(other, "import kinetograph")
except Exception as error:
    refusal = error
assert "ImportError" in str(refusal) or "main interpreter" in str(refusal), refusal
with kg.scope("after"):
    pass
print(json.dumps({"events": [event.name for event in kg.disable_profiler().events]}))
