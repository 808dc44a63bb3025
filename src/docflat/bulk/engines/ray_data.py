"""Ray Data: actors that load the model once, on this machine or on a cluster. Ray schedules, retries and restarts."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from docflat.bulk.plan import Plan
from docflat.bulk.receipts import Receipt
from docflat.bulk.settings import Settings
from docflat.bulk.shards import Shard
from docflat.support.errors import InputError

_MOST_BLOCKS = 10_000  # of shards: what Ray keeps in order; a call then does several
_PATIENCE = 5.0  # seconds for an address to answer


class TranslateShards:
    """What an actor is: `TranslateShard`, told of shards and telling of receipts as JSON."""

    def __init__(self, plan: Plan, settings: Settings, threads: int) -> None:
        from docflat.bulk.translate_shard import TranslateShard

        if not (plan.out / "plan.json").exists():
            raise InputError(f"is not to be seen from {socket.gethostname()}: machines must share it", plan.out)
        self.translate = TranslateShard(plan, settings, threads)

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[str]]:
        receipts, faults = [], []
        for text in batch["shard"]:
            try:
                receipts.append(self.translate(Shard.from_json(text)).to_json())
                faults.append("")
            except InputError as error:  # nothing that trying again would help with
                receipts.append("")
                faults.append(str(error))
        return {"receipt": receipts, "fault": faults}


def run_ray(
    plan: Plan,
    settings: Settings,
    shards: Sequence[Shard],
    done: Callable[[Receipt], None],
    workers: int | None,
    threads: int,
    address: str | None = None,
) -> list[Shard]:
    """Do all shards; those that are left when Ray has given them up."""
    ray = _import_ray()
    with _session(ray, address):
        gpus = int(ray.cluster_resources().get("GPU", 0)) if settings.device != "cpu" else 0
        cpus = int(ray.cluster_resources().get("CPU", 1))
        most = min(len(shards), workers or gpus or max(1, cpus // threads))
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        dataset = ray.data.from_items(
            [{"shard": shard.to_json()} for shard in shards], override_num_blocks=min(len(shards), _MOST_BLOCKS)
        ).map_batches(
            TranslateShards,
            fn_constructor_args=(plan, settings, threads),
            compute=ray.data.ActorPoolStrategy(min_size=1, initial_size=most, max_size=most),
            batch_size=1,
            num_cpus=threads,
            num_gpus=1 if gpus else None,
            runtime_env={"env_vars": {"OMP_NUM_THREADS": str(threads), "OPENBLAS_NUM_THREADS": str(threads)}},
        )
        for row in dataset.iter_rows():
            if row["fault"]:
                raise InputError(row["fault"])
            done(Receipt.from_json(row["receipt"]))
    return []


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
    logging.getLogger("ray").setLevel(logging.WARNING)
    logging.getLogger("ray.data").setLevel(logging.WARNING)
    address = address or os.environ.get("RAY_ADDRESS")
    if address:
        _check_address(address)
    # Otherwise Ray tells once a machine that it counts users.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        if address:
            ray.init(address=address, logging_level="WARNING", log_to_driver=False)
        else:
            ray.init(address="local", include_dashboard=False, logging_level="WARNING", log_to_driver=False)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise InputError(f"no Ray answers at {address or 'this machine'}: {error}") from None
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
