"""One module per tool: `contenders()` gives the loops to measure. Each runs in a process of its own."""
