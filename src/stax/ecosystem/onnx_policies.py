"""Export of the built-in policy as an ONNX file, for robots, browsers and other languages.

The graph has one input, `observation` (n, inputs), and one output, `action` (n, outputs), for any n. It is built here, five
nodes a layer, rather than traced from PyTorch. This takes 8 ms, gives the same bytes for the same policy, and needs nothing but
the package `onnx` (extra `onnx`); PyTorch's exporter needs `onnxscript` and seconds. The graph computes in 64 bits as the
search does, because a rollout amplifies rounding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stax.analysis.replay import check_file
from stax.constraints import check_choice
from stax.ecosystem.policy_layers import checked_policy, layers
from stax.errors import InvalidInputError
from stax.extras import import_extra
from stax.runs.files import write_for_user
from stax.tasks.task import Task

SUFFIX = ".onnx"
PRECISIONS = ("float64", "float32")
_OPSET, _IR = 17, 8
"""Versions of ONNX from 2022, which current runtimes support; the graph needs nothing newer."""


def check_policy_file(path: str | Path) -> Path:
    """Return the path, if a policy can be written there."""
    path = Path(path)
    if path.suffix.lower() != SUFFIX:
        raise InvalidInputError(f"The name of an exported policy must end with {SUFFIX}, not {str(path)!r}.")
    check_file(path)
    return path


def export_policy(
    task: Task | Sequence[int],
    genome: ArrayLike,
    path: str | Path,
    *,
    precision: str = "float64",
    about: Mapping[str, object] | None = None,
) -> Path:
    """Write a policy as an ONNX file, atomically, and return its path.

    Args:
        task: a task whose policies are networks, such as the built-in ones; or the sizes of the network's layers, inputs first.
        genome: the policy's genome, (genome_size,).
        path: the file, which ends with .onnx. Its folder is made if it does not exist.
        precision: precision of the observations, the weights and the actions: `float64`, as in the search, or `float32`.
        about: text for the file's metadata.
    """
    target = check_policy_file(path)
    check_choice("precision", precision, PRECISIONS)
    words = {**({"task": task.name} if isinstance(task, Task) else {}), **(about or {})}
    content = _model(*checked_policy(task, genome), precision, words).SerializeToString()
    write_for_user(target, content)
    return target


def _model(sizes: tuple[int, ...], genome: Any, precision: str, about: Mapping[str, object]) -> Any:
    onnx = import_extra("onnx", "onnx", "An ONNX file")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    kind = np.dtype(precision)
    constants = [numpy_helper.from_array(np.array(value, kind), name) for name, value in (("one", 1.0), ("two", 2.0))]
    nodes, values = [], "observation"
    found = layers(sizes, genome)
    for number, (weight, bias) in enumerate(found):
        constants.append(numpy_helper.from_array(np.ascontiguousarray(weight, kind), f"weight_{number}"))
        constants.append(numpy_helper.from_array(np.array(bias, kind), f"bias_{number}"))
        last = "action" if number == len(found) - 1 else f"layer_{number}"
        # 2 sigmoid(values @ weight + bias) - 1
        for operator, inputs, output in (
            ("MatMul", [values, f"weight_{number}"], f"products_{number}"),
            ("Add", [f"products_{number}", f"bias_{number}"], f"sums_{number}"),
            ("Sigmoid", [f"sums_{number}"], f"sigmoids_{number}"),
            ("Mul", [f"sigmoids_{number}", "two"], f"doubled_{number}"),
            ("Sub", [f"doubled_{number}", "one"], last),
        ):
            nodes.append(helper.make_node(operator, inputs, [output], name=output))
        values = last
    element = helper.np_dtype_to_tensor_dtype(kind)
    graph = helper.make_graph(
        nodes,
        "policy",
        [helper.make_tensor_value_info("observation", element, ["n", sizes[0]])],
        [helper.make_tensor_value_info("action", element, ["n", sizes[-1]])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR, producer_name="stax-qd")
    helper.set_model_props(model, {name: str(value) for name, value in about.items()})
    onnx.checker.check_model(model)
    return model
