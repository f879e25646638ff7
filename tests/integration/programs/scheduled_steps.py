"""What a user of torch.profiler writes. Run as it stands, and with the next import taken from kinetograph.

Prints what came of it, as JSON: nothing here knows which of the two it runs on.
"""

import gzip
import json
import re
import sys
import warnings
from pathlib import Path

from torch.profiler import ProfilerActivity, profile, record_function, schedule, tensorboard_trace_handler

FOLDER, OPTIONS = Path(sys.argv[1]), json.loads(sys.argv[2])
calls: list[list[object]] = []


def marks(path: Path) -> list[str]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    events = json.loads(text)["traceEvents"]
    spans = [event for event in events if event.get("ph") == "X" and event.get("cat") == "user_annotation"]
    return [span["name"] for span in sorted(spans, key=lambda span: (span["ts"], -span["dur"]))]


def on_trace_ready(prof: profile) -> None:
    if "tensorboard" in OPTIONS:
        known = set(FOLDER.glob("tb/*"))
        to_tensorboard(prof)
        (path,) = set(FOLDER.glob("tb/*")) - known
    else:
        path = FOLDER / f"trace{len(calls)}.json"
        prof.export_chrome_trace(str(path))
    calls.append([prof.step_num, prof.current_action.name, marks(path)])


to_tensorboard = tensorboard_trace_handler(str(FOLDER / "tb"), **OPTIONS.get("tensorboard", {}))


def train() -> None:
    numbers = sum(range(1000))
    if model is not None:
        model(torch.full((2, 4), float(numbers))).sum().backward()


def run() -> profile:
    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(**OPTIONS["schedule"]) if "schedule" in OPTIONS else None,
        on_trace_ready=on_trace_ready,
        acc_events=OPTIONS.get("acc_events", False),
        **OPTIONS.get("profile", {"record_shapes": True}),
    ) as prof:
        for iteration in range(OPTIONS["iterations"]):
            with record_function(f"forward {iteration}"):
                train()
            with record_function(f"backward {iteration}"):
                sum(range(1000))
            if iteration == OPTIONS.get("raises_at"):
                raise KeyError("program")
            prof.step()
    return prof


if OPTIONS.get("model"):
    import torch

    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
else:
    model = None

error, names = "", []
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    try:
        prof = run()
        # torch.profiler calls all steps "ProfilerStep*" here, and by their number in the file.
        events = [event for event in prof.events() if not getattr(event, "is_python_function", False)]
        names = sorted({re.sub(r"^ProfilerStep#\d+", "ProfilerStep*", event.name) for event in events})
        if OPTIONS.get("table"):
            table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=5)
            names.append(" ".join(line for line in table.splitlines() if "Self CPU %" in line).split())
            averages = prof.key_averages(group_by_input_shape=True)
            rows = [[row.key, row.count, str(row.input_shapes), row.flops] for row in averages]
            names.append(sorted(row for row in rows if row[0] in names))
    except (KeyError, ValueError) as raised:
        error = repr(raised)

files = sorted(path.name for path in (FOLDER / "tb").glob("*"))
complaints = sorted({str(warning.message).removeprefix("Warning: ").partition(".")[0] for warning in caught})
print(json.dumps({"calls": calls, "error": error, "names": names, "files": files, "warnings": complaints}))
