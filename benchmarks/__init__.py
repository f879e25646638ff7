"""What Kinetograph costs, beside hand-written floors and its peers, in one interleaved run: `make bench`."""
