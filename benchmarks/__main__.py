"""`python -m benchmarks [topic ...] [--quick] [--save]`: run the topics and print a table each."""

from benchmarks import (
    annotation_cost,
    averages,
    call_cost,
    command,
    import_time,
    inside_decode,
    million_events,
    on_demand,
    operator_cost,
    sampling,
    scope_cost,
)

TOPICS: dict[str, command.Topic] = {
    "scope": scope_cost,
    "annotations": annotation_cost,
    "calls": call_cost,
    "million": million_events,
    "averages": averages,
    "import": import_time,
    "sampling": sampling,
    "operators": operator_cost,
    "ondemand": on_demand,
    "inside": inside_decode,
}

if __name__ == "__main__":
    command.main(TOPICS, "python -m benchmarks")
