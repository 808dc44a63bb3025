"""Sessions: graphs that run. Weights are handed over where they lie; nothing of them goes through a file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from docflat.data.rows import Array
from docflat.engines.onnx.graph import Graph
from docflat.support.errors import InputError

OLDEST = (1, 20)
# Of 1.31 and later: else it notes an id of this machine in the user's folder and tells its maker of its use.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
try:
    import onnxruntime as ort
except ImportError as error:
    raise InputError(f"the engine onnx needs onnxruntime, which cannot be loaded: {error}") from None
if tuple(int(part) for part in ort.__version__.split(".")[:2]) < OLDEST:
    needed = ".".join(map(str, OLDEST))
    raise InputError(f"onnxruntime {ort.__version__} is too old: pip install 'onnxruntime>={needed}'")


class Session:
    """A graph with its weights, ready to run."""

    def __init__(self, graph: Graph, threads: int) -> None:
        """threads: 0: as many as there are cores."""
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Constants are folded; beyond that there is nothing to find, and looking takes a twentieth of a second.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
        options.log_severity_level = 4  # what is wrong is in the exception too
        # An arena keeps memory of all sizes that batches ever had: a third more at the peak, and no faster.
        options.enable_cpu_mem_arena = False
        # What is not packed for products, the embeddings, is read where it lies for as long as the session is used.
        self.inputs, self.outputs = graph.inputs, graph.outputs
        self.weights = {name: np.ascontiguousarray(array) for name, array in graph.weights.items()}
        values = [ort.OrtValue.ortvalue_from_numpy(array) for array in self.weights.values()]
        if values:
            options.add_external_initializers(list(self.weights), values)
        try:
            self.session = ort.InferenceSession(graph.serialize(), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's have no class in common
            reason = str(error).strip().splitlines()[-1]
            raise InputError(f"onnxruntime {ort.__version__} cannot run the graph {graph.name}: {reason}") from None

    def run(self, outputs: Sequence[str], inputs: Mapping[str, Array]) -> list[Array]:
        made: list[Array] = self.session.run(list(outputs), dict(inputs))
        return made

    def bind(self) -> Binding:
        return Binding(self.session)


class Binding:
    """A session with arrays for its inputs and outputs: it reads and writes them where they are."""

    def __init__(self, session: Any) -> None:
        self.session, self.binding = session, session.io_binding()
        self.arrays: dict[str, Array] = {}  # a value does not keep its array

    def read(self, name: str, array: Array) -> None:
        self.arrays[name] = array
        self.binding.bind_ortvalue_input(name, ort.OrtValue.ortvalue_from_numpy(array))

    def write(self, name: str, array: Array) -> None:
        self.arrays[name] = array
        self.binding.bind_ortvalue_output(name, ort.OrtValue.ortvalue_from_numpy(array))

    def run(self) -> None:
        self.session.run_with_iobinding(self.binding)
