"""`python -m benchmarks.gpu [topic ...] [--quick] [--save]`: what recording costs on a GPU."""

from benchmarks import command
from benchmarks.gpu import host, host_parts, hosts, inside, launches, many_kernels, model, sessions

TOPICS: dict[str, command.Topic] = {
    "gpu-launches": launches,
    "gpu-model": model,
    "gpu-host": host,
    "gpu-parts": host_parts,
    "gpu-many-kernels": many_kernels,
    "gpu-sessions": sessions,
    "gpu-inside": inside,
    "gpu-hosts": hosts,
}

if __name__ == "__main__":
    command.main(TOPICS, "python -m benchmarks.gpu")
