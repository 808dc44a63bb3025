"""A model whose weights lie between those of two others: the last step of the model that ships.

    python recipes/ship/mean.py BEFORE AFTER SHARE OUT

BEFORE and AFTER are model folders of one system; OUT becomes one with (1 - SHARE) * BEFORE + SHARE * AFTER.
"""

from __future__ import annotations

import sys
from pathlib import Path

import torch

from docflat.weights.folders import check_fit, load_model, read_weights, save_model


def main(before: str, after: str, share: str, out: str) -> None:
    loaded, path = load_model(Path(after)), Path(before) / "model.safetensors"
    other = read_weights(path)
    check_fit(loaded.model, other, path)
    own, part = loaded.model.state_dict(), float(share)
    weights = {name: torch.lerp(other[name].float(), tensor, part) for name, tensor in own.items()}
    save_model(Path(out), loaded.config, weights, loaded.subwords, "")


if __name__ == "__main__":
    main(*sys.argv[1:])
