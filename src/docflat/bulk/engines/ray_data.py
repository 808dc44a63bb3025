"""Ray Data: actors that load the model once, on this machine or on a cluster. Ray schedules, retries and restarts."""

from __future__ import annotations

import logging
import os
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from docflat.bulk.diary import MOST_DEATHS, Attempts
from docflat.bulk.plan import PLAN, Plan
from docflat.bulk.receipts import Receipt
from docflat.bulk.settings import Settings
from docflat.bulk.shards import Shard
from docflat.support.errors import InputError

_MOST_BLOCKS = 10_000  # of shards: what Ray keeps in order; a call then does several
_PATIENCE = 5.0  # seconds for an address to answer


class TranslateShards:
    """What an actor is: `TranslateShard`, told of shards and telling of receipts as JSON.

    Ray gives the shard of an actor that ended to another, and does so for ever; so this counts how often it was begun.
    """

    def __init__(self, plan: Plan, settings: Settings, threads: int, run: str) -> None:
        from docflat.bulk.translate_shard import TranslateShard

        self.plan, self.run, self.fault = plan, run, ""
        try:
            if not (plan.out / PLAN).exists():
                message = f"is not to be seen from {socket.gethostname()}: all machines must share it"
                raise InputError(message, plan.out)
            self.translate = TranslateShard(plan, settings, threads)
        except InputError as error:  # told when there is somebody to tell
            self.fault = str(error)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        receipts, faults = [], []
        for text in batch["shard"]:
            receipt, fault = "", self.fault
            try:
                if not fault:
                    receipt = self._translate(Shard.from_json(text))
            except InputError as error:  # nothing that trying again would help with
                fault = str(error)
            receipts.append(receipt)
            faults.append(fault)
        return {"receipt": receipts, "fault": faults}

    def _translate(self, shard: Shard) -> str:
        """Empty if there is none: the shard ends processes at no document."""
        attempts = Attempts(self.plan.diary(f"{shard.name}.{self.run}"))
        number = attempts.begin()
        if number > 2 * MOST_DEATHS + shard.documents:
            return ""
        receipt = self.translate(shard, careful=number > MOST_DEATHS).to_json()
        attempts.end()
        return receipt


def run_ray(
    plan: Plan,
    settings: Settings,
    shards: Sequence[Shard],
    done: Callable[[Receipt], None],
    workers: int | None,
    threads: int,
    address: str | None = None,
) -> list[Shard]:
    """Do all shards; those over which process after process ended."""
    ray = _import_ray()
    with _session(ray, address):
        resources = ray.cluster_resources()
        gpus = int(resources.get("GPU", 0)) if settings.device != "cpu" else 0
        most = min(len(shards), workers or gpus or max(1, int(resources.get("CPU", 1)) // threads))
        ray.data.DataContext.get_current().enable_progress_bars = False
        dataset = ray.data.from_items(
            [{"shard": shard.to_json()} for shard in shards], override_num_blocks=min(len(shards), _MOST_BLOCKS)
        ).map_batches(
            TranslateShards,
            fn_constructor_args=(plan, settings, threads, secrets.token_hex(4)),
            compute=ray.data.ActorPoolStrategy(min_size=1, initial_size=most, max_size=most),
            batch_size=1,
            num_cpus=threads,  # Ray sets OMP_NUM_THREADS to it
            num_gpus=1 if gpus else None,
        )
        for row in dataset.iter_rows():
            if row["fault"]:
                raise InputError(row["fault"])
            if row["receipt"]:
                done(Receipt.from_json(row["receipt"]))
    return [shard for shard in shards if not plan.receipt(shard.name).exists()]


def _import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ModuleNotFoundError as error:
        raise InputError(f"the engine ray needs {error.name}: pip install 'docflat[bulk]'") from None
    return ray


@contextmanager
def _session(ray: Any, address: str | None) -> Iterator[None]:
    """A connection to a cluster, or a Ray of our own that ends with the run; or the one that the program has."""
    if ray.is_initialized():
        yield
        return
    for name in ("ray", "ray.data"):  # it warns of what was asked for, such as no bars of its own
        logging.getLogger(name).setLevel(logging.ERROR)
    address = address or os.environ.get("RAY_ADDRESS")
    if address:
        _check_address(address)
    # Otherwise Ray tells once a machine that it counts users.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if address:
            ray.init(address=address, logging_level="ERROR", log_to_driver=False)
        else:
            ray.init(address="local", include_dashboard=False, logging_level="ERROR", log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        hint = " (one with tokens is joined with RAY_AUTH_MODE=token)" if address else ""
        raise InputError(f"no Ray answers at {address or 'this machine'}{hint}: {error}") from None
    try:
        yield
    finally:
        ray.shutdown()


def _check_address(address: str) -> None:
    """Ray itself waits two minutes for an address where nothing is, and then ends the process."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdecimal():  # auto, local
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
    except OSError as error:
        raise InputError(f"no Ray answers at {address}: {error.strerror or error}") from None
