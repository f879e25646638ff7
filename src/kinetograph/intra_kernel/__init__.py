"""Records from inside GPU kernels. Not here yet: each module says what it will bring."""
