"""What is counted, for Prometheus. No text of a client, and no name that a client chose, is ever a label."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.process_collector import ProcessCollector

BUCKETS = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100)


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        registry = self.registry
        labels = ("method", "route", "status")
        self.requests = Counter("docflat_requests", "Requests that were answered", labels, registry=registry)
        self.seconds = Histogram(
            "docflat_request_seconds", "Until a request was answered", ("route",), buckets=BUCKETS, registry=registry
        )
        self.characters = Counter("docflat_characters", "Characters translated", ("kind",), registry=registry)
        self.refused = Counter("docflat_refused", "Requests refused: too much waits", ("queue",), registry=registry)
        self.joined = Counter(
            "docflat_joined", "Requests that waited for another's translation of the same", registry=registry
        )
        self.abandoned = Counter("docflat_abandoned", "Translations that nobody waited for", registry=registry)
        self.restarts = Counter(
            "docflat_process_restarts", "Model processes that were replaced", ("queue",), registry=registry
        )
        self.jobs = Counter("docflat_jobs", "Jobs that ended", ("state",), registry=registry)

    def watch(self, name: str, what: str, value: Callable[[], float]) -> None:
        """A number that is looked up when somebody asks."""
        Gauge(name, what, registry=self.registry).set_function(value)

    def text(self) -> bytes:
        return bytes(generate_latest(self.registry))
