"""OpenTelemetry spans: the SDK recording into memory in batches, and the bare API."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from benchmarks.harness import Contender

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter))
recording_tracer = provider.get_tracer("benchmarks")
idle_tracer = trace.NoOpTracerProvider().get_tracer("benchmarks")


@contextmanager
def cleared() -> Iterator[None]:
    yield
    provider.force_flush()
    exporter.clear()


def recorded_span(count: int) -> None:
    for _ in range(count):
        with recording_tracer.start_as_current_span("x"):
            pass


def idle_span(count: int) -> None:
    for _ in range(count):
        with idle_tracer.start_as_current_span("x"):
            pass


def contenders() -> list[Contender]:
    return [
        Contender("opentelemetry span, recorded", recorded_span, cleared, count=500),
        Contender("opentelemetry span, off", idle_span, count=500),
    ]
