"""How does the trained network become the file that is shipped?

The ONNX graph is built here, operation by operation, so that it depends on no exporter. The big matrices and the table
of word vectors can be kept in full (`fp32`), in half precision (`fp16`), as whole numbers with one scale a column
(`int8`: the arithmetic stays in full precision), or computed in whole numbers too (`int8-dynamic`).
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

Form = Literal["fp32", "fp16", "int8", "int8-dynamic"]
FORMS: tuple[Form, ...] = ("fp32", "fp16", "int8", "int8-dynamic")
HEADS, WIDTH, LAYERS = 12, 384, 6
# Opset 20 has Gelu; every onnxruntime since 1.17 reads it.
OPSET = 20
Array = NDArray[np.generic]


def _whole(value: Array, axis: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Numbers as whole ones from -127 to 127, and what to multiply them with along this axis."""
    scale = np.maximum(np.abs(value).max(axis=axis, keepdims=True), 1e-9) / 127
    return np.clip(np.rint(value / scale), -127, 127).astype(np.int8), scale.astype(np.float32)


def rounded(weights: Mapping[str, Array]) -> dict[str, Array]:
    """The weights as the form `int8` has them, for reading with it where there is no onnxruntime."""
    found = dict(weights)
    for name, value in weights.items():
        if name == "words.weight" or (name.startswith("layers.") and value.ndim > 1):
            # A row of either is what one scale stands for: a word's vector, or what leads to one number of the output.
            whole, scale = _whole(value, axis=1)
            found[name] = whole.astype(np.float32) * scale
    return found


class _Graph:
    """Nodes and constants on their way into a model; every method returns the name of what it adds."""

    def __init__(self, form: Form) -> None:
        self.form = form
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self.known: set[str] = set()

    def add(self, kind: str, *inputs: str, out: str | None = None, **settings: object) -> str:
        name = out or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], name=f"n{len(self.nodes)}", **settings))
        return name

    def constant(self, name: str, value: Array) -> str:
        if name not in self.known:
            self.known.add(name)
            self.constants.append(numpy_helper.from_array(np.array(value, order="C"), name))
        return name

    def number(self, value: float | list[int], kind: type[np.generic]) -> str:
        return self.constant(f"{kind.__name__}:{value}", np.array(value, kind))

    def _narrow(self, name: str, value: Array, axis: int) -> tuple[str, str | None]:
        """A constant in the form's own width, and the name of its scales where it has any."""
        if self.form == "fp16":
            return self.constant(name, value.astype(np.float16)), None
        whole, scale = _whole(value, axis)
        return self.constant(name, whole), self.constant(f"{name}:scale", scale)

    def matrix(self, name: str, value: Array) -> str:
        """A matrix to multiply with: what stands narrow in the file is widened once, when it is loaded."""
        if self.form in {"fp32", "int8-dynamic"}:
            return self.constant(name, value)
        narrow, scale = self._narrow(name, value, axis=0)
        wide = self.add("Cast", narrow, to=TensorProto.FLOAT)
        return self.add("Mul", wide, scale) if scale else wide

    def rows(self, name: str, table: Array, ids: str) -> str:
        """Rows of a table: only those that are asked for are widened."""
        if self.form == "fp32":
            return self.add("Gather", self.constant(name, table), ids)
        narrow, scale = self._narrow(name, table, axis=1)
        wide = self.add("Cast", self.add("Gather", narrow, ids), to=TensorProto.FLOAT)
        return self.add("Mul", wide, self.add("Gather", scale, ids)) if scale else wide

    def linear(self, x: str, name: str, weights: Mapping[str, Array]) -> str:
        product = self.add("MatMul", x, self.matrix(name, weights[f"{name}.weight"].T))
        return self.add("Add", product, self.constant(f"{name}.bias", weights[f"{name}.bias"]))

    def norm(self, x: str, name: str, weights: Mapping[str, Array]) -> str:
        scale, bias = (self.constant(f"{name}.{kind}", weights[f"{name}.{kind}"]) for kind in ("weight", "bias"))
        return self.add("LayerNormalization", x, scale, bias, axis=-1, epsilon=1e-12)


def _layer(graph: _Graph, x: str, mask: str, at: int, weights: Mapping[str, Array]) -> str:
    """One layer of BERT; the same as `encoder.Layer`."""
    name = f"layers.{at}"
    shape = graph.number([0, 0, 3, HEADS, WIDTH // HEADS], np.int64)
    split = graph.add(
        "Transpose", graph.add("Reshape", graph.linear(x, f"{name}.qkv", weights), shape), perm=[2, 0, 3, 1, 4]
    )
    q, k, v = (graph.add("Gather", split, graph.number(side, np.int64), axis=0) for side in range(3))
    product = graph.add("MatMul", q, graph.add("Transpose", k, perm=[0, 1, 3, 2]))
    scaled = graph.add("Mul", product, graph.number((WIDTH // HEADS) ** -0.5, np.float32))
    shares = graph.add("Softmax", graph.add("Add", scaled, mask), axis=-1)
    seen = graph.add("Transpose", graph.add("MatMul", shares, v), perm=[0, 2, 1, 3])
    seen = graph.linear(graph.add("Reshape", seen, graph.number([0, 0, WIDTH], np.int64)), f"{name}.out", weights)
    x = graph.norm(graph.add("Add", x, seen), f"{name}.norm1", weights)
    inner = graph.linear(graph.add("Gelu", graph.linear(x, f"{name}.up", weights)), f"{name}.down", weights)
    return graph.norm(graph.add("Add", x, inner), f"{name}.norm2", weights)


def build(
    weights: Mapping[str, Array], labels: Mapping[str, int], form: Form, notes: Mapping[str, str], reasoned: int
) -> onnx.ModelProto:
    """The trained network as an ONNX model that gives the expected level of each label.

    Args:
        weights: The state of `encoder.Scorer`.
        labels: The labels to keep with their numbers of levels, in the order of the output's columns.
        form: How the big matrices are kept.
        notes: Goes into the file as its metadata.
        reasoned: How many labels of the network have words given as reasons; if any, these are a second output.
    """
    graph = _Graph(form)
    float_of = {"to": TensorProto.FLOAT}
    padding = graph.add("Cast", graph.add("Equal", "ids", graph.number(0, np.int64)), **float_of)
    mask = graph.add("Mul", padding, graph.number(-1e4, np.float32))
    mask = graph.add("Unsqueeze", mask, graph.number([1, 2], np.int64))
    length = graph.add("Gather", graph.add("Shape", "ids"), graph.number(1, np.int64))
    place = graph.add("Range", graph.number(0, np.int64), length, graph.number(1, np.int64))
    words = graph.rows("words", weights["words.weight"], "ids")
    sides = graph.add("Gather", graph.constant("sides.weight", weights["sides.weight"]), "sides")
    places = graph.add("Gather", graph.constant("positions.weight", weights["positions.weight"][:256]), place)
    x = graph.norm(graph.add("Add", graph.add("Add", words, places), sides), "norm", weights)
    for at in range(LAYERS):
        x = _layer(graph, x, mask, at, weights)
    names = [name.split(".")[1] for name in weights if name.startswith("heads.") and name.endswith(".weight")]
    outside = graph.add("Cast", graph.add("Not", graph.add("Equal", "sides", graph.number(1, np.int64))), **float_of)
    outside = graph.add(
        "Unsqueeze", graph.add("Mul", outside, graph.number(-1e4, np.float32)), graph.number([2], np.int64)
    )
    kept = [names.index(label) for label in labels]
    # The heads are small: they stay in full precision in every form, so the columns are put together here.
    attend = {kind: weights[f"attend.{kind}"][kept] for kind in ("weight", "bias")}
    small = _Graph("fp32")
    small.nodes, small.constants, small.known = graph.nodes, graph.constants, graph.known
    with_reasons = [at for at, which in enumerate(kept) if which < reasoned]
    for column, which in enumerate(kept):
        if which < reasoned:
            attend["weight"][column] += weights["reason.weight"][which]
            attend["bias"][column] += weights["reason.bias"][which]
    scores = graph.add(
        "Add", small.linear(x, "attend", {f"attend.{kind}": value for kind, value in attend.items()}), outside
    )
    shares = graph.add("Transpose", graph.add("Softmax", scores, axis=1), perm=[0, 2, 1])
    pooled = graph.add("MatMul", shares, x)
    first = graph.add("Gather", x, graph.number(0, np.int64), axis=1)
    levels: list[str] = []
    for column, label in enumerate(labels):
        own = graph.add("Gather", pooled, graph.number(column, np.int64), axis=1)
        logits = small.linear(graph.add("Concat", first, own, axis=-1), f"heads.{label}", weights)
        above = graph.add("Sigmoid", logits)
        levels.append(graph.add("ReduceSum", above, graph.number([1], np.int64), keepdims=1))
    graph.add("Concat", *levels, out="levels", axis=-1)
    outputs = [helper.make_tensor_value_info("levels", TensorProto.FLOAT, ["batch", len(labels)])]
    if with_reasons:
        small.linear(x, "reason", weights)
        graph.add("Sigmoid", graph.nodes[-1].output[0], out="reasons")
        outputs.append(helper.make_tensor_value_info("reasons", TensorProto.FLOAT, ["batch", "length", reasoned]))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in ("ids", "sides")]
    made = helper.make_graph(graph.nodes, "scorer", inputs, outputs, graph.constants)
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    helper.set_model_props(model, dict(notes))
    onnx.checker.check_model(model)
    return model


def write(model: onnx.ModelProto, form: Form, path: Path) -> None:
    """Write the model; the `int8-dynamic` form gets its whole-number products here."""
    if form != "int8-dynamic":
        onnx.save(model, path)
        return
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        wide = Path(folder) / "wide.onnx"
        onnx.save(model, wide)
        quantize_dynamic(
            wide,
            path,
            op_types_to_quantize=["MatMul"],
            per_channel=True,
            weight_type=QuantType.QInt8,
            nodes_to_exclude=[
                node.name for node in model.graph.node if node.op_type == "MatMul" and not _of_layers(node)
            ],
        )


def _of_layers(node: onnx.NodeProto) -> bool:
    return node.input[1].startswith("layers.")
