"""End, and leave a child that goes on until a file is there."""

import os
import sys
import time

import kinetograph as kg

ready, is_ready = os.pipe()
if os.fork() == 0:
    with kg.scope("orphan"):
        print(os.getpid(), flush=True)
        sys.stdout.close()
        os.close(1)
        os.close(2)
        os.write(is_ready, b"!")
        while not os.path.exists(sys.argv[1]):
            time.sleep(0.01)
    os._exit(0)
os.read(ready, 1)
