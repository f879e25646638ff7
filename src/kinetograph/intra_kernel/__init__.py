"""Records from inside GPU kernels: what a kernel writes, and what becomes of it on the host."""
