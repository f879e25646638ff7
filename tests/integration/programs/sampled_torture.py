"""Functions that call and return as fast as they can while they are sampled 10,000 times a second.

Each has few callers that are possible, so that a stack put together from two is found out. Prints as JSON the
pairs that were seen and cannot be, and how many functions were seen.
"""

import json
import sys
import threading

from tests.sampled import rounds, sampling

from kinetograph.analysis.tree import EventNode, event_tree

SOURCE = """
def left0(): left1(); left1()
def left1(): left2(); left2()
def left2(): left3(); left3()
def left3(): pass
def right0(): right1(); right1()
def right1(): right2(); right2()
def right2(): right3(); right3()
def right3(): pass
def chains():
    left0(); right0()

def short_a(): short_b()
def short_b(): pass
def short_c(): short_d()
def short_d(): pass
def pairs():
    short_a(); short_c(); short_a(); short_c()

def key_a(x): in_key_a(); return x
def key_b(x): in_key_b(); return x
def in_key_a(): pass
def in_key_b(): pass
def sort_a(): sorted([2, 1], key=key_a)
def sort_b(): sorted([2, 1], key=key_b)
def callbacks():
    sort_a(); sort_b()

def generator_a():
    yield in_generator_a()
    yield in_generator_a()
def generator_b():
    yield in_generator_b()
    yield in_generator_b()
def in_generator_a(): pass
def in_generator_b(): pass
def drain_a():
    for _ in generator_a(): pass
def drain_b():
    for _ in generator_b(): pass
def generators():
    drain_a(); drain_b()

def down_a(n):
    if n: down_a(n - 1)
def down_b(n):
    if n: down_b(n - 1)
def recursion():
    down_a(300); down_b(300)

class A:
    def __init__(self): init_a()
class B:
    def __init__(self): init_b()
    def __add__(self, other): add_b()
    @property
    def value(self): value_b()
def init_a(): pass
def init_b(): pass
def add_b(): pass
def value_b(): pass
def make_a(): A()
def make_b():
    b = B(); b + b; b.value
def classes():
    make_a(); make_b()
"""

CALLERS = {
    "left0": "chains",
    "left1": "left0",
    "left2": "left1",
    "left3": "left2",
    "right0": "chains",
    "right1": "right0",
    "right2": "right1",
    "right3": "right2",
    "short_a": "pairs",
    "short_b": "short_a",
    "short_c": "pairs",
    "short_d": "short_c",
    "sort_a": "callbacks",
    "sort_b": "callbacks",
    "key_a": "sort_a",
    "key_b": "sort_b",
    "in_key_a": "key_a",
    "in_key_b": "key_b",
    "drain_a": "generators",
    "drain_b": "generators",
    "generator_a": "drain_a",
    "generator_b": "drain_b",
    "in_generator_a": "generator_a",
    "in_generator_b": "generator_b",
    "down_a": "recursion down_a",
    "down_b": "recursion down_b",
    "make_a": "classes",
    "make_b": "classes",
    "A.__init__": "make_a",
    "B.__init__": "make_b",
    "B.__add__": "make_b",
    "B.value": "make_b",
    "init_a": "A.__init__",
    "init_b": "B.__init__",
    "add_b": "B.__add__",
    "value_b": "B.value",
}
LOOPS = ("chains", "pairs", "callbacks", "generators", "recursion", "classes")


def keep_going(loop, until):
    while rounds() < until:
        for _ in range(100):
            loop()


def main() -> None:
    namespace: dict = {}
    exec(compile(SOURCE, "torture", "exec"), namespace)
    # All threads take turns, so that the sampler meets them running and waiting.
    sys.setswitchinterval(0.0005)
    with sampling(sample_hz=10_000, include=["torture"]) as window:
        until = rounds() + int(sys.argv[1])
        threads = [threading.Thread(target=keep_going, args=(namespace[loop], until)) for loop in LOOPS]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    impossible, seen = [], set()

    def visit(node: EventNode, caller: str) -> None:
        function = node.event.args.get("Qualified name") or node.event.name.partition("): ")[2]
        seen.add(function)
        allowed = CALLERS.get(function, "").split() if function not in LOOPS else [""]
        if caller not in allowed:
            impossible.append([caller, function])
        for child in node.children:
            visit(child, function)

    sys.setrecursionlimit(10_000)
    for node in event_tree(window.trace):
        visit(node, "")
    print(json.dumps({"impossible": impossible, "seen": len(seen), "functions": len(CALLERS) + len(LOOPS)}))


if __name__ == "__main__":
    main()
