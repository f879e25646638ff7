"""Our averages of a trace that PyTorch's profiler saved against PyTorch's own averages of the same run."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import kinetograph as kg
from kinetograph.trace import Trace

torch: Any = pytest.importorskip("torch", reason="PyTorch is not installed here")

# A file has times in whole nanoseconds but the profiler's own are floats of microseconds.
TOLERANCE_US = 0.05


def network() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 4))


def train(profiler: Any, steps: int = 3) -> None:
    model = network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        with torch.profiler.record_function("forward"):
            loss = model(torch.ones(8 + step, 16)).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        profiler.step()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Trace]:
    """The profiler of PyTorch, and the trace that it saved."""
    schedule = torch.profiler.schedule(wait=0, warmup=1, active=3, repeat=1)
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(activities=activities, record_shapes=True, schedule=schedule) as profiler:
        train(profiler, steps=4)
        path = tmp_path_factory.mktemp("torch") / "trace.json"
    profiler.export_chrome_trace(str(path))
    trace = kg.load(path)
    assert len(trace) > 100
    return profiler, trace


def times(averages: Any) -> dict[Any, tuple[int, float, float]]:
    return {
        (row.key, row.is_user_annotation, str(row.input_shapes)): (
            row.count,
            pytest.approx(row.cpu_time_total, abs=row.count * TOLERANCE_US),
            pytest.approx(row.self_cpu_time_total, abs=10 * row.count * TOLERANCE_US),
        )
        for row in averages
    }


def plain_times(averages: Any) -> dict[Any, tuple[int, float, float]]:
    return {
        (row.key, row.is_user_annotation, str(row.input_shapes)): (
            row.count,
            row.cpu_time_total,
            row.self_cpu_time_total,
        )
        for row in averages
    }


@pytest.mark.parametrize("by_shape", [False, True])
def test_names_counts_and_times_are_pytorchs(run: tuple[Any, Trace], by_shape: bool) -> None:
    profiler, trace = run
    theirs = times(profiler.key_averages(group_by_input_shape=by_shape))
    ours = plain_times(trace.key_averages(group_by_input_shape=by_shape))
    assert ours == theirs


def test_the_table_has_pytorchs_headings_and_units(run: tuple[Any, Trace]) -> None:
    profiler, trace = run
    options: dict[str, Any] = {"sort_by": "cpu_time_total", "row_limit": 5, "time_unit": "ms"}
    theirs = profiler.key_averages().table(**options).splitlines()
    ours = trace.key_averages().table(**options).splitlines()
    assert ours[1].split() == theirs[1].split()
    assert [line.split()[0] for line in ours[3:8]] == [line.split()[0] for line in theirs[3:8]]
    assert [len(line.split()) for line in ours[:9]] == [len(line.split()) for line in theirs[:9]]
    assert ours[-1].split(":")[0] == theirs[-1].split(":")[0]


@pytest.mark.parametrize("width", [0, 1, 2])
def test_names_in_a_narrow_column_are_cut_as_pytorch_cuts_them(run: tuple[Any, Trace], width: int) -> None:
    tables = (each.key_averages().table(max_name_column_width=width).splitlines() for each in run)
    theirs, ours = ([line.strip().split("  ")[0] for line in table] for table in tables)
    assert ours[:-1] == theirs[:-1]
    assert "..." in ours[3]


def test_shapes_have_no_room_in_a_column_without_width(run: tuple[Any, Trace]) -> None:
    for each in run:
        table = each.key_averages(group_by_input_shape=True).table(max_shapes_column_width=0)
        heading, _rule, *rows = table.splitlines()[1:]
        assert heading.split()[-2:] == ["Input", "Shapes"]
        assert all(row.split()[-1].isdigit() for row in rows[:-3])


PERCENTS = ("self_cpu_percent", "total_cpu_percent")


def test_shares_are_those_that_pytorchs_table_leaves_behind(run: tuple[Any, Trace]) -> None:
    profiler, trace = run
    averages = profiler.key_averages()
    averages.table()
    # In the last digit, for their times are rounded otherwise.
    theirs = {
        (row.key, name): pytest.approx(float(getattr(row, name)[:-1]), abs=0.011)
        for row in averages
        for name in PERCENTS
    }
    ours = {
        (row.key, name): float(getattr(row, name)[:-1]) for row in trace.key_averages() for name in PERCENTS
    }
    assert ours == theirs


def test_shares_are_those_that_our_table_shows(run: tuple[Any, Trace]) -> None:
    _profiler, trace = run
    for averages in (trace.key_averages(), trace.key_averages().sort("count")[:5]):
        lines = averages.table(max_name_column_width=None).splitlines()[3:]
        cells = [re.split("  +", line.strip()) for line in lines if line.count("%") == 2]
        shares = [(row.key, row.self_cpu_percent, row.total_cpu_percent) for row in averages]
        assert shares == [(line[0], line[1], line[3]) for line in cells]


def test_the_sum_of_all_is_pytorchs(run: tuple[Any, Trace]) -> None:
    profiler, trace = run
    theirs, ours = profiler.key_averages().total_average(), trace.key_averages().total_average()
    assert (ours.key, ours.count) == (theirs.key, theirs.count)
    assert ours.self_cpu_time_total == pytest.approx(theirs.self_cpu_time_total, rel=1e-3)


def test_python_functions_are_counted_as_pytorch_counts_them(tmp_path: Path) -> None:
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], with_stack=True
    ) as profiler:
        network()(torch.ones(8, 16))
    path = tmp_path / "trace.json"
    profiler.export_chrome_trace(str(path))
    theirs = {row.key: row.count for row in profiler.key_averages()}
    ours = {row.key: row.count for row in kg.load(path).key_averages(include_python=True)}
    assert {name: ours.get(name) for name in theirs if theirs[name] == ours.get(name)}.keys() == theirs.keys()
