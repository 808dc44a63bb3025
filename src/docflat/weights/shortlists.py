"""The file of a shortlist in a model folder: the words of the target that each word of the source can become."""

from __future__ import annotations

FILE = "shortlist.safetensors"  # starts (text words + 1,), words, frequent; see engines/onnx/shortlist.py
