"""End, and leave a Python that cannot be recorded, for it reads no site packages."""

import os
import subprocess
import sys

code = "import time; time.sleep(600)"
child = subprocess.Popen(
    [sys.executable, "-S", "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
print(child.pid, flush=True)
os._exit(0)
