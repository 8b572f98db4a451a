# SPDX-License-Identifier: Apache-2.0
"""libweft_cuda by ctypes: calls of its kernels with tensors of whichever PyTorch is there. bench/device/device_case.h has the structs."""
import ctypes
import dataclasses
import math

import torch

DTYPES = {"float32": 0, "bfloat16": 2, "float16": 3}  # kernels::DType
SEED = 11  # of dropout
_ALIGNED = 256


class Shape(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_int64) for name in ("batch", "heads", "key_heads", "queries", "keys", "head_dim", "value_dim")),
                ("dtype", ctypes.c_int32), ("dropout", ctypes.c_float), ("seed", ctypes.c_uint64), ("is_tf32", ctypes.c_int32)]


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), *((name, ctypes.c_int64) for name in ("batch_stride", "head_stride", "row_stride"))]


NAMES = ("query", "key", "value", "output", "output_gradient", "query_gradient", "key_gradient", "value_gradient")


class Tensors(ctypes.Structure):
    _fields_ = [*((name, Tensor) for name in NAMES),
                *((name, ctypes.c_void_p) for name in ("log_sum_exp", "key_keep", "distances", "distance_gradient")),
                *((name, ctypes.c_int64) for name in ("distance_span", "distance_zero")),
                *((name, ctypes.c_void_p) for name in ("query_positions", "key_positions"))]  # fmt: skip


class Problem(Exception):
    """What the library says is wrong, one line."""


class Library:
    """`kernels`: libweft_cuda.so or the emulation of it; `cases`: libweft_device_case.so."""

    def __init__(self, kernels, cases):
        self.cases = ctypes.CDLL(str(cases))
        self.kernels = ctypes.CDLL(str(kernels))
        address, text, size = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int64
        for name, result, arguments in (
            ("weft_case_problem", text, []),
            ("weft_case_open", address, [text, ctypes.POINTER(Shape)]),
            ("weft_case_close", None, [address]),
            ("weft_case_edges", ctypes.c_double, [address]),
            ("weft_case_tables_bytes", size, [address]),
            ("weft_case_fill_tables", None, [address, address, address]),
            ("weft_case_room_bytes", size, [address, ctypes.POINTER(Tensors), ctypes.c_int]),
            ("weft_case_call", address, [address, ctypes.POINTER(Tensors), address, ctypes.c_int]),
            ("weft_case_multiplicity", text, [text, size, size, size, address]),
            ("weft_case_kept", None, [ctypes.POINTER(Shape), address]),
            ("weft_case_blocks", text, [text, size, size, size, ctypes.c_int32, address]),
            ("weft_case_call_bytes", ctypes.c_ulong, []),
        ):
            function = getattr(self.cases, name)
            function.restype, function.argtypes = result, arguments
        for name in ("weft_cuda_forward", "weft_cuda_backward", "weft_cuda_decode"):
            function = getattr(self.kernels, name)
            function.restype, function.argtypes = text, [address, address]
        self.kernels.weft_cuda_call_bytes.restype = ctypes.c_ulong
        ours, theirs = self.cases.weft_case_call_bytes(), self.kernels.weft_cuda_call_bytes()
        if ours != theirs:
            raise Problem(f"{kernels} has calls of {theirs} bytes and {cases} of {ours}: they are of two builds")

    def multiplicity(self, expression, heads, queries, keys):
        """uint8 [heads, queries, keys], asked of the pattern pair by pair."""
        found = torch.empty(heads, queries, keys, dtype=torch.uint8)
        self._check(self.cases.weft_case_multiplicity(expression.encode(), heads, queries, keys, found.data_ptr()))
        return found

    def blocks(self, expression, heads, length, tile):
        """uint8 [heads, query blocks, key blocks]: 0 no edge, 1 some, 2 all."""
        found = torch.empty(heads, -(-length // tile), -(-length // tile), dtype=torch.uint8)
        self._check(self.cases.weft_case_blocks(expression.encode(), heads, length, length, tile, found.data_ptr()))
        return found

    @staticmethod
    def _check(problem):
        if problem:
            raise Problem(problem.decode())


@dataclasses.dataclass
class Inputs:
    """Tensors of one dtype on one device: [B, H, N, D] each, of queries and of keys; key_keep uint8 [B, N], 0 at padding."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    output_gradient: torch.Tensor
    key_keep: torch.Tensor | None = None
    distances: torch.Tensor | None = None  # float32 [H, span]: what is added to scores; the middle entry is that of distance 0
    positions: tuple[torch.Tensor, torch.Tensor] | None = None  # int32 [B, H, Q] and [B, H_kv, K]: a query sees keys up to its own position

    def leaves(self, dtype=None):
        """Copies of query, key and value that gradients come to."""
        return [of.detach().to(dtype or of.dtype, copy=True).requires_grad_() for of in (self.query, self.key, self.value)]


class Case:
    """An expression at fixed sizes with its tables on the device of `inputs`, and calls with these."""

    def __init__(self, library, expression, inputs, dropout=0.0, is_tf32=False):
        query, key, value = inputs.query, inputs.key, inputs.value
        self.library, self.device, self.inputs = library, query.device, inputs
        batch, heads, queries, head_dim = query.shape
        shape = Shape(batch, heads, key.shape[1], queries, key.shape[2], head_dim, value.shape[3], DTYPES[str(query.dtype).removeprefix("torch.")],
                      dropout, SEED, is_tf32)  # fmt: skip
        self.shape = shape
        self.opened = library.cases.weft_case_open(expression.encode(), ctypes.byref(shape))
        if not self.opened:
            raise Problem(library.cases.weft_case_problem().decode())
        self.edges = library.cases.weft_case_edges(self.opened) * batch
        host = torch.empty(library.cases.weft_case_tables_bytes(self.opened), dtype=torch.uint8)
        self.tables = self._memory(host.numel())
        library.cases.weft_case_fill_tables(self.opened, host.data_ptr(), self.tables.data_ptr())
        self.tables.copy_(host)
        self.output = torch.empty(*query.shape[:3], value.shape[3], dtype=query.dtype, device=self.device)
        self.log_sum_exp = torch.empty(query.shape[:3], dtype=torch.float32, device=self.device)
        self.gradients = [torch.empty_like(of, memory_format=torch.contiguous_format) for of in (query, key, value)]
        if inputs.distances is not None:
            self.gradients.append(torch.empty_like(inputs.distances))
        self.rooms = {}

    def __del__(self):
        if getattr(self, "opened", None):
            self.library.cases.weft_case_close(self.opened)

    def _memory(self, size):
        """`size` bytes at a multiple of 256."""
        memory = torch.empty(size + _ALIGNED, dtype=torch.uint8, device=self.device)
        first = -memory.data_ptr() % _ALIGNED
        return memory[first : first + size]

    def _tensors(self):
        inputs, keep = self.inputs, self.inputs.key_keep
        tensors = Tensors(log_sum_exp=self.log_sum_exp.data_ptr(), key_keep=None if keep is None else keep.data_ptr())
        of = (inputs.query, inputs.key, inputs.value, self.output, inputs.output_gradient, *self.gradients)
        for name, tensor in zip(NAMES, of):
            if tensor.stride(3) != 1:
                raise Problem(f"{name} has a last dimension with stride {tensor.stride(3)}; expected 1")
            setattr(tensors, name, Tensor(tensor.data_ptr(), *tensor.stride()[:3]))
        if inputs.distances is not None:
            tensors.distances, tensors.distance_gradient = inputs.distances.data_ptr(), self.gradients[3].data_ptr()
            tensors.distance_span, tensors.distance_zero = inputs.distances.shape[1], inputs.distances.shape[1] // 2
        if inputs.positions is not None:
            tensors.query_positions, tensors.key_positions = (of.data_ptr() for of in inputs.positions)
        return tensors

    def _run(self, function, is_backward):
        tensors = self._tensors()
        if is_backward not in self.rooms:
            self.rooms[is_backward] = self._memory(self.library.cases.weft_case_room_bytes(self.opened, ctypes.byref(tensors), is_backward))
        call = self.library.cases.weft_case_call(self.opened, ctypes.byref(tensors), self.rooms[is_backward].data_ptr(), is_backward)
        stream = torch.cuda.current_stream().cuda_stream if self.device.type == "cuda" else None
        self.library._check(function(call, stream))

    def kept(self):
        """uint8 [B, heads, queries, keys]: 1 where a score stays under the call's dropout, as a CPU draws it."""
        shape = self.shape
        found = torch.empty(shape.batch, shape.heads, shape.queries, shape.keys, dtype=torch.uint8)
        self.library.cases.weft_case_kept(ctypes.byref(shape), found.data_ptr())
        return found.to(self.device)

    def forward(self):
        """The output; of one query a text by the kernel that a decoded token has, as the backend chooses."""
        is_decoded = self.shape.queries == 1 and self.shape.dropout == 0
        self._run(self.library.kernels.weft_cuda_decode if is_decoded else self.library.kernels.weft_cuda_forward, 0)
        return self.output

    def backward(self):
        """[dQ, dK, dV] of the last forward(), and the gradient of the distances where there are some."""
        self._run(self.library.kernels.weft_cuda_backward, 1)
        return self.gradients

    def memory(self):
        """Bytes on the device besides the tensors of the call: tables, and what long rows leave."""
        return sum(of.numel() for of in (self.tables, *self.rooms.values()))

    def operations(self, with_backward):
        """4 D a real edge forwards, 14 D both ways."""
        return self.edges * self.inputs.query.shape[3] * (14 if with_backward else 4)


def scale_of(query):
    return 1.0 / math.sqrt(query.shape[3])
