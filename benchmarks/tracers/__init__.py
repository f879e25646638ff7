"""One module per tool that traces calls: `contenders()` gives what to measure, in a process of its own."""
