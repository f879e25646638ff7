"""Operators of PyTorch: a small native observer, built against the torch that is installed.

`build.py` makes it and keeps it, `operators.py` switches it on and off for sessions; what it does for each
operator is in `observer/observer.cpp`. `execution_trace.py` asks it for nodes of a graph, which
`observer/execution_trace.cpp` makes of the same operators. `modules.py` names the calls of modules among
those of Python. `ranges.py` brings what torch.compile tells, `emitted.py` names of operators where nothing
can be built, by the way that `routes.py` finds, `patches.py` ranges of the program where no other way does.
`enabled_flag.py` has torch know that it is profiled.
"""
