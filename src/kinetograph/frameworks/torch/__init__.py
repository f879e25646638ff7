"""Operators of PyTorch: a small native observer, built against the torch that is installed.

`build.py` makes it and keeps it, `operators.py` switches it on and off for sessions; what it does for each
operator is in `observer/observer.cpp`. `modules.py` names the calls of modules among those of Python.
"""
