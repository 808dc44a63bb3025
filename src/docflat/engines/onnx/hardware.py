"""What the processor and the installed ONNX Runtime can do: asked by trying."""

from __future__ import annotations

from functools import cache

import numpy as np

from docflat.engines.onnx.graph import FLOAT, INT8, UINT8, Graph
from docflat.engines.onnx.sessions import Session

NO_INT8 = (
    "this processor has no exact int8 products (on x86 they need VNNI: Intel since 2019, AMD since 2022): computing in "
    "fp32, slower"
)


@cache
def has_int8() -> bool:
    """Whether int8 products are exact: without their own instructions, sums of two products overflow 16 bits."""
    graph, inner, outer = Graph("probe", "Large numbers times large numbers."), 64, 32
    graph.input("x", UINT8, "rows", inner)
    graph.input("columns", INT8, inner, outer)
    scales = graph.constant(np.ones(outer, dtype=np.float32))
    one, zero = graph.constant(np.float32(1)), graph.constant(np.uint8(128))
    made = graph.add_microsoft("MatMulIntegerToFloat", "x", "columns", one, scales, zero)
    graph.output(made, "y", FLOAT, "rows", outer)
    inputs = {"x": np.full((5, inner), 255, dtype=np.uint8), "columns": np.full((inner, outer), 127, dtype=np.int8)}
    (products,) = Session(graph, 1).run(["y"], inputs)
    return bool((products == 127 * 127 * inner).all())
