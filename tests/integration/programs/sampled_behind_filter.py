"""Samples where process_vm_readv is forbidden, as some containers have it, and perhaps without /proc.

sampled_behind_filter.py      reads /proc/self/mem instead
sampled_behind_filter.py DIR  makes DIR its root, where there is no /proc, and prints the error
"""

import ctypes
import json
import os
import platform
import struct
import sys
import threading

from tests.sampled import Waiting, functions, sampling, start, wait_for_rounds

import kinetograph as kg

PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, FAIL_WITH_EPERM = 0x7FFF0000, 0x00050001
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def forbid(call: int) -> None:
    steps = [
        (LOAD, 0, 0, 0),
        (JUMP_IF_EQUAL, 0, 1, call),
        (RETURN, 0, 0, FAIL_WITH_EPERM),
        (RETURN, 0, 0, ALLOW),
    ]
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    described = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(steps), ctypes.addressof(program)))
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    assert prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(described), 0, 0) == 0, ctypes.get_errno()


def outer(wait) -> None:
    wait()


def main() -> None:
    start().stop()  # everything is imported, and it works
    forbid(PROCESS_VM_READV[platform.machine()])
    if len(sys.argv) > 1:
        os.chroot(sys.argv[1])
        try:
            start()
        except kg.NotAvailable as error:
            print(json.dumps(str(error)))
        return
    with Waiting(outer) as waiting, sampling() as window:
        wait_for_rounds()
    print(json.dumps([functions(window.trace, waiting.threads[0].native_id), threading.active_count()]))


main()
