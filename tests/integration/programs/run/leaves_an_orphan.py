"""End, and leave a child that goes on until a file is there."""

import os
import sys
import time

import kinetograph as kg

if os.fork() == 0:
    with kg.scope("orphan"):
        print(os.getpid(), flush=True)
        sys.stdout.close()
        os.close(1)
        os.close(2)
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
    os._exit(0)
