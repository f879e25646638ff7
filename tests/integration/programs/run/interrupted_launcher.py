"""`kinetograph run` that gets a signal in the middle of writing its trace: SIGNAL ARGUMENTS..."""

import os
import signal
import sys
from pathlib import Path

from kinetograph.cli import main
from kinetograph.export.replacing import replacing
from kinetograph.trace import Trace


def save(trace: Trace, path: str) -> None:
    with replacing(path) as file:
        file.write(b"half of it")
        os.kill(os.getpid(), getattr(signal, sys.argv[1]))
        file.write(b"and the rest")


Trace.save = save
sys.argv[0] = str(Path(sys.prefix, "bin", "kinetograph"))
main(sys.argv[2:])
