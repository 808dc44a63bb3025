"""The same training in processes of Ray Train, which starts them again when one of them or its node is lost."""

from __future__ import annotations

import os
import secrets
from dataclasses import replace
from typing import Any

from docflat.support.errors import InputError
from docflat.training.loop import train
from docflat.training.recipe import Recipe

_FAILURES = 3  # after which Ray Train gives up


def train_on_ray(recipe: Recipe, workers: int, address: str | None = None) -> list[dict[str, Any]]:
    """`train` in so many processes of a cluster, or of this machine; after a failure from the last checkpoint."""
    try:
        import ray
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchTrainer
    except ModuleNotFoundError as error:
        raise InputError(f"the engine ray needs {error.name}: pip install 'docflat[bulk]'") from None
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "600")  # of a minute, a busy machine needs more
    recipe = replace(recipe, data=recipe.data.resolve(), out=recipe.out.resolve())  # processes may start elsewhere
    mine = not ray.is_initialized()
    if mine:
        ray.init(address=address or "local", include_dashboard=None if address else False, log_to_driver=False)
    try:
        gpu = recipe.device != "cpu" and ray.cluster_resources().get("GPU", 0) >= workers
        loop: Any = _train  # Ray's types are those of its older trainer, which knew of no returned value
        trainer: Any = TorchTrainer(
            loop,
            train_loop_config={"recipe": recipe},
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=gpu),
            run_config=RunConfig(
                # Checkpoints are docflat's own: Ray keeps only what it notes of a run, where all nodes see it.
                name=secrets.token_hex(4),
                storage_path=str(recipe.out / "ray"),
                failure_config=FailureConfig(max_failures=_FAILURES),
            ),
        )
        returned: dict[str, Any] = trainer.fit().return_value or {}  # by the first process
    finally:
        if mine:
            ray.shutdown()
    if "fault" in returned:
        raise InputError(returned["fault"])
    results: list[dict[str, Any]] = returned["results"]
    return results


def _train(config: dict[str, Any]) -> dict[str, Any]:
    """One of the processes: Ray has joined them, and set what torchrun sets."""
    try:
        return {"results": train(config["recipe"])}
    except InputError as error:  # trying again would not help
        return {"fault": str(error)}
