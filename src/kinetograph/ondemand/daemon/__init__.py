"""The daemon of a host: PyTorch's processes on one side, requests over the network on the other.

`docs/concepts/on-demand.md` says what it speaks. Nothing here is loaded in a process that is looked into.
"""
