"""End while a child has only just been started."""

import os
import subprocess
import sys

code = "import kinetograph as kg\nwith kg.scope('late'): pass"
subprocess.Popen([sys.executable, "-c", code])
os._exit(5)
