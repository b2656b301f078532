# tests/oracle/make_vectors.py -- samples of PyTorch's operator database with what PyTorch 1.13 computes from them, for tests/oracle/oracle_test.cpp: `make oracle`.
"""make_vectors.py FOLDER writes FOLDER/<op>.safetensors and FOLDER/index.jsonl.

A line of the index is one call:
  op, dtype, kind     the name in the database with its variant, the dtype that was asked for, "value" or "error"
  args, kwargs        numbers, texts, lists and null as they are, else one of
                      {"tensor": name} row-major, {"tensor": name, "sizes", "strides"} a view of a flat tensor of that name,
                      {"float": "nan"}, {"dtype": "f32"}, {"slice": [start, stop, step]}, {"ellipsis": true}, {"other": what it is}
  expected            the results, in a flat list
  exact               of floats narrower than f64: PyTorch's results for the same elements as f64, where it has some
  gradient            inputs: names of the tensors that require one; outputs: positions in `expected`; grad_outputs: their gradients (normally distributed);
                      expected: PyTorch's gradients, null where it has none; exact: as above
  message             of an error: PyTorch's
"""
import json
import math
import os
import random
import struct
import sys
import types
import warnings
import zlib

import torch

# The database imports a module that Debian lacks and of which it reads one name.
sys.modules["expecttest"] = types.ModuleType("expecttest")
sys.modules["expecttest"].ACCEPT = True
sys.modules["expecttest"].TestCase = object
from torch.testing._internal.common_methods_invocations import op_db  # noqa: E402

DTYPES = {
    torch.bool: "bool",
    torch.uint8: "u8",
    torch.int8: "i8",
    torch.int16: "i16",
    torch.int32: "i32",
    torch.int64: "i64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.float32: "f32",
    torch.float64: "f64",
    torch.complex64: "c64",
    torch.complex128: "c128",
}
TRIED = (torch.float32, torch.float64, torch.int64, torch.bool, torch.bfloat16)
WITH_GRADIENT = (torch.float32, torch.float64)

# Every op of ours that the database has under any name. The C++ side has an adapter for each.
OPS = """
abs add all amax amin any arange argmax argmin argsort argwhere bfloat16 bmm bool broadcast_to cat ceil chunk clamp clamp_max clamp_min clone
constant_pad_nd contiguous cos cumsum div.floor_rounding div.no_rounding_mode div.trunc_rounding dot double einsum eq erf exp expand expand_as expm1
eye flatten flip fliplr flipud float floor floor_divide full_like gather ge gt half index_add index_select int isfinite isinf isnan le
linalg.vector_norm log log1p log_softmax log_softmax.dtype logical_and logical_not logical_or logical_xor long lt mH mT masked_fill matmul
max.binary maximum mean min.binary minimum mm msort mul mv narrow ne neg new_full new_ones new_zeros nn.functional._scaled_dot_product_attention
nn.functional.cross_entropy nn.functional.dropout nn.functional.embedding nn.functional.gelu nn.functional.layer_norm nn.functional.linear
nn.functional.pad.constant nn.functional.relu nn.functional.silu nonzero norm norm.fro norm.inf ones ones_like outer permute pow prod ravel
reciprocal reshape reshape_as round rsqrt rsub scatter_add select sigmoid sign sin slice softmax softmax.with_dtype sort split split.list_args
split_with_sizes sqrt square squeeze stack std sub sum tanh transpose tril triu true_divide trunc unbind unsqueeze var view view_as where zeros
zeros_like T __getitem__ __radd__ __rdiv__ __rmatmul__ __rmul__ __rpow__ __rsub__
""".split()


def numel(shape):
    return math.prod(shape)


class Vectors:
    """The tensors of one op by name, and values as JSON that names them."""

    def __init__(self):
        self.tensors = {}
        self.names = {}
        self.kept = []  # so that no id is used twice

    def store(self, flat, shape):
        name = f"t{len(self.tensors)}"
        self.tensors[name] = (torch.empty(flat.shape, dtype=flat.dtype).copy_(flat), list(shape))
        return name

    def encode_tensor(self, x):
        if id(x) in self.names:
            return self.names[id(x)]
        plain = x.detach()
        if x.layout != torch.strided or x.device.type != "cpu" or x.dtype not in DTYPES or x.dtype == torch.complex128:
            return {"other": f"a tensor of {x.dtype}, {x.layout}, {x.device}"}
        if x.dim() > 64:
            return {"other": f"a tensor of {x.dim()} axes"}
        if plain.is_contiguous() or plain.numel() == 0:
            entry = {"tensor": self.store(plain.reshape(-1), x.shape)}
        else:
            extent = 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))
            base = torch.as_strided(plain, (extent,), (1,), x.storage_offset())
            entry = {"tensor": self.store(base, (extent,)), "sizes": list(x.shape), "strides": list(x.stride())}
        self.names[id(x)] = entry
        self.kept.append(x)
        return entry

    def encode(self, value):
        if isinstance(value, torch.Tensor):
            return self.encode_tensor(value)
        if value is None or isinstance(value, (bool, str)):
            return value
        if isinstance(value, int):
            return value if -(2**63) <= value < 2**63 else {"other": "an integer beyond 64 bits"}
        if isinstance(value, float):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, (list, tuple)):
            return [self.encode(item) for item in value]
        if isinstance(value, torch.dtype):
            return {"dtype": DTYPES[value]}
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if value is Ellipsis:
            return {"ellipsis": True}
        return {"other": f"{type(value).__name__} {value}"}

    def write(self, path):
        """A .safetensors file; tensors of wide elements first, so that each is aligned."""
        header = {}
        blocks = []
        at = 0
        for name, (flat, shape) in sorted(self.tensors.items(), key=lambda item: -item[1][0].element_size()):
            raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
            header[name] = {"dtype": DTYPES[flat.dtype].upper(), "shape": shape, "data_offsets": [at, at + len(raw)]}
            blocks.append(raw)
            at += len(raw)
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        with open(path, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            file.writelines(blocks)


def flattened(value):
    if isinstance(value, (list, tuple)):
        return [x for item in value for x in flattened(item)]
    return [value]


def results_of(op, *args, **kwargs):
    """The results in a flat list, without those that were not asked for."""
    return [y for y in flattened(op(*args, **kwargs)) if y is not None]


def tensors_of(sample):
    everything = flattened([sample.input, list(sample.args), list(sample.kwargs.values())])
    unique = {id(x): x for x in everything if isinstance(x, torch.Tensor)}
    return list(unique.values())


def gradient_of(sample, outputs, wide, vectors):
    """PyTorch's gradients of the results by the inputs, or None where nothing requires one."""
    inputs = [x for x in tensors_of(sample) if x.requires_grad]
    positions = [i for i, y in enumerate(outputs) if y.requires_grad]
    if not inputs or not positions:
        return None
    chosen = [outputs[i] for i in positions]
    grad_outputs = [torch.randn(y.shape, dtype=y.dtype) for y in chosen]
    found = torch.autograd.grad(chosen, inputs, grad_outputs, allow_unused=True)
    exact = wide and wide.gradients(inputs, positions, grad_outputs)
    return {
        "exact": exact and [vectors.encode(g) for g in exact],
        "inputs": [vectors.encode(x)["tensor"] for x in inputs],
        "outputs": positions,
        "grad_outputs": [vectors.encode(g) for g in grad_outputs],
        "expected": [vectors.encode(g) for g in found],
    }


class Widened:
    """A sample with f64 in place of narrower floats, and what PyTorch computes from it: it decides who is nearer where two narrow results differ."""

    def __init__(self, op, sample):
        self.tensors = {}
        try:
            everything = self.widen((sample.input, *sample.args)), self.widen(sample.kwargs)
            self.outputs = results_of(op, *everything[0], **everything[1])
        except (RuntimeError, TypeError):
            self.outputs = None

    def widen(self, value):
        if isinstance(value, torch.Tensor):
            if id(value) not in self.tensors:
                wide = value.detach().double() if value.is_floating_point() else value.detach().clone()
                self.tensors[id(value)] = wide.requires_grad_(value.requires_grad)
            return self.tensors[id(value)]
        if isinstance(value, (list, tuple)):
            return type(value)(self.widen(item) for item in value)
        if isinstance(value, dict):
            return {key: self.widen(item) for key, item in value.items()}
        return torch.float64 if value in (torch.bfloat16, torch.float32) else value

    def gradients(self, inputs, positions, grad_outputs):
        if self.outputs is None:
            return None
        outputs = [self.outputs[i] for i in positions]
        wide = [self.tensors[id(x)] for x in inputs]
        return torch.autograd.grad(outputs, wide, [g.double() for g in grad_outputs], allow_unused=True)


def call_of(name, dtype, kind, sample, vectors):
    return {
        "op": name,
        "dtype": DTYPES[dtype] if dtype else "",
        "kind": kind,
        "args": [vectors.encode(x) for x in (sample.input, *sample.args)],
        "kwargs": {key: vectors.encode(x) for key, x in sample.kwargs.items()},
    }


def seed(name, dtype):
    value = zlib.crc32(f"{name} {dtype}".encode())
    torch.manual_seed(value)
    random.seed(value)


def values_of(op, name, dtype, vectors):
    seed(name, dtype)
    wants_gradient = dtype in WITH_GRADIENT and op.supports_autograd
    for sample in op.sample_inputs("cpu", dtype, requires_grad=wants_gradient):
        line = call_of(name, dtype, "value", sample, vectors)
        outputs = results_of(op, sample.input, *sample.args, **sample.kwargs)
        line["expected"] = [vectors.encode(y) for y in outputs]
        wide = Widened(op, sample) if dtype in (torch.bfloat16, torch.float32) else None
        if wide is not None and wide.outputs is not None:
            line["exact"] = [vectors.encode(y) for y in wide.outputs]
        if wants_gradient:
            line["gradient"] = gradient_of(sample, outputs, wide, vectors)
        yield line


def errors_of(op, name, vectors):
    seed(name, "errors")
    for error in op.error_inputs("cpu"):
        sample = error.sample_input
        line = call_of(name, None, "error", sample, vectors)
        try:
            op(sample.input, *sample.args, **sample.kwargs)
        except Exception as e:  # what PyTorch throws is the expected result
            line["message"] = f"{type(e).__name__}: {e}".split("\n")[0][:300]
            yield line
        # The database names errors of methods too, which the function does not have: those calls are left out.


def write_op(op, name, folder, index):
    vectors = Vectors()
    lines = []
    for dtype in TRIED:
        if dtype in op.supported_dtypes("cpu"):
            lines += values_of(op, name, dtype, vectors)
    if op.error_inputs_func is not None:
        lines += errors_of(op, name, vectors)
    vectors.write(os.path.join(folder, f"{name}.safetensors"))
    for line in lines:
        index.write(json.dumps(line, allow_nan=False) + "\n")
    return len(lines)


def main(folder):
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    os.makedirs(folder, exist_ok=True)
    by_name = {op.name + ("." + op.variant_test_name if op.variant_test_name else ""): op for op in op_db}
    missing = [name for name in OPS if name not in by_name]
    if missing:
        raise SystemExit(f"make_vectors.py: the database of PyTorch {torch.__version__} lacks: {' '.join(missing)}")
    path = os.path.join(folder, "index.jsonl")
    count = 0
    with open(path + ".part", "w", encoding="utf-8") as index:
        for name in OPS:
            count += write_op(by_name[name], name, folder, index)
    os.replace(path + ".part", path)
    print(f"{count} calls of {len(OPS)} ops of PyTorch {torch.__version__} in {folder}")


if __name__ == "__main__":
    main(sys.argv[1])
