"""A million recorded ranges: stop, build, write, how much memory; and reading the file back."""

import statistics
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks import readers, recorders
from benchmarks.harness import in_fresh_process, is_installed
from benchmarks.recorders import Recording
from benchmarks.report import Claim, claims_table, table

RECORDERS = {
    "kinetograph": recorders.kinetograph,
    "kinetograph calls": recorders.kinetograph_calls,
    "floor": recorders.floor,
    "viztracer": recorders.viztracer,
    "viztracer dump_raw": recorders.viztracer_raw,
    "torch": recorders.torch,
}
READERS = {
    "kg.load": ("kinetograph", readers.kinetograph),
    "orjson.loads": ("orjson", readers.orjson),
    "json.loads": ("json", readers.standard_json),
}
Recordings = dict[tuple[str, str], list[Recording]]
Readings = dict[str, list[float]]


def run(*, quick: bool) -> str:
    count, rounds = (20_000, 1) if quick else (1_000_000, 3)
    with tempfile.TemporaryDirectory() as folder:
        recordings = record_all(Path(folder), count, rounds)
        readings = read_all(Path(folder) / "kinetograph.json", rounds)
    absent = [name for name in RECORDERS if (name, ".json") not in recordings]
    return "\n".join(
        [
            f"# {count:,} events",
            "",
            recordings_table(recordings, count),
            "",
            readings_table(readings, count),
            "",
            claims_table([*recording_claims(recordings, count), *reading_claims(readings)]),
            *(f"skipped: {name} is not installed" for name in absent),
            *([] if "HTA" in readings else ["skipped: HTA is not installed"]),
        ]
    )


def record_all(folder: Path, count: int, rounds: int) -> Recordings:
    found: Recordings = {}
    for _ in range(rounds):
        for suffix in (".json", ".json.gz", ".pftrace", ".pftrace.gz"):
            for name, record in RECORDERS.items():
                if can_write(name, suffix):
                    path = folder / f"{name}{suffix}"
                    found.setdefault((name, suffix), []).append(in_fresh_process(record, count, str(path)))
    return found


def can_write(name: str, suffix: str) -> bool:
    if "pftrace" in suffix:
        return name == "kinetograph"
    if name in ("floor", "viztracer dump_raw"):  # it compresses nothing
        return suffix == ".json" and (name == "floor" or is_installed("viztracer"))
    return is_installed(name.split()[0])


def read_all(path: Path, rounds: int) -> Readings:
    if not path.exists():
        return {}
    present = {name: read for name, (module, read) in READERS.items() if is_installed(module)}
    found: Readings = {}
    for _ in range(rounds):
        for name, read in present.items():
            found.setdefault(name, []).append(in_fresh_process(read, str(path)))
    if readers.HTA_PYTHON.exists():  # half a minute for a million events: once is enough
        found["HTA"] = [readers.hta(str(path))]
    return found


def median(recordings: list[Recording], figure: Callable[[Recording], float]) -> float:
    return statistics.median(figure(recording) for recording in recordings)


def recordings_table(recordings: Recordings, count: int) -> str:
    rows = [
        (
            f"{name} {suffix}",
            f"{median(runs, lambda run: run.stop_s) / count * 1e6:.3f}",
            f"{median(runs, lambda run: run.write_s) / count * 1e6:.3f}",
            f"{median(runs, lambda run: run.total_s) / count * 1e6:.3f}",
            f"{median(runs, lambda run: run.file_bytes) / count:.0f}",
            f"{median(runs, lambda run: run.peak_bytes) / count:.0f}",
        )
        for (name, suffix), runs in recordings.items()
    ]
    header = ("us of CPU per event", "stop", "write", "both", "file B/event", "peak memory B/event")
    return table(header, rows)


def readings_table(readings: Readings, count: int) -> str:
    rows = [(name, f"{statistics.median(runs) / count * 1e6:.3f}") for name, runs in readings.items()]
    return table(("reading the .json, us of CPU per event", "median"), rows)


def recording_claims(recordings: Recordings, count: int) -> list[Claim]:
    claims = []
    for suffix, factor in ((".json", 10), (".json.gz", 20)):
        ours, theirs = recordings.get(("kinetograph", suffix)), recordings.get(("torch", suffix))
        if ours and theirs:
            ratio = median(theirs, lambda run: run.total_s) / median(ours, lambda run: run.total_s)
            claims.append(Claim(f"torch.profiler / ours, stop and write {suffix}", ratio, at_least=factor))
        if ours:
            peak = median(ours, lambda run: run.peak_bytes) / count
            claims.append(Claim(f"peak memory, bytes per event, {suffix}", peak, at_most=200))
    ours = recordings.get(("kinetograph", ".pftrace"))
    if ours and count >= 100_000:  # of few events the file is mostly names
        size = median(ours, lambda run: run.file_bytes) / count
        claims.append(Claim("bytes per slice without arguments, .pftrace", size, at_most=40))
    return [*claims, *call_claims(recordings)]


def call_claims(recordings: Recordings) -> list[Claim]:
    """Stop and write of traced calls, against the only peer that writes as many."""
    ours = recordings.get(("kinetograph calls", ".json"))
    return [
        Claim(
            f"{name} / ours, calls, stop and write .json",
            median(theirs, lambda run: run.total_s) / median(ours, lambda run: run.total_s),
            at_least=factor,
        )
        for name, factor in (("viztracer", 5), ("viztracer dump_raw", 1))
        if ours and (theirs := recordings.get((name, ".json")))
    ]


def reading_claims(readings: Readings) -> list[Claim]:
    limits = {"HTA": 10, "orjson.loads": 1}
    if "kg.load" not in readings:
        return []
    ours = statistics.median(readings["kg.load"])
    return [
        Claim(f"{name} / kg.load", statistics.median(readings[name]) / ours, at_least=limit)
        for name, limit in limits.items()
        if name in readings
    ]
