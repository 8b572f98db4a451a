# SPDX-License-Identifier: Apache-2.0
"""A profile of attention written with nothing but Python: every part causal, its probabilities made up."""

import json
import struct

UNIT = 2 ** 36  # of a probability


def edges_of(heads, length, mass, rows):
    """[heads][length][length]: sums of rows(query) rows of probabilities, in UNIT; mass(head, query, key) is a weight in its row."""
    edges = [[[0] * length for _ in range(length)] for _ in range(heads)]
    for head in range(heads):
        for query in range(length):
            weights = [mass(head, query, key) for key in range(query + 1)]
            edges[head][query][:query + 1] = [int(UNIT * weight / sum(weights)) * rows(query) for weight in weights]
    return edges


def summed(edges, count, place):
    """[heads][count]: the sum of the edges that place(query, key) puts there."""
    sums = [[0] * count for _ in edges]
    for head, rows in enumerate(edges):
        for query, row in enumerate(rows):
            for key in range(query + 1):
                sums[head][place(query, key)] += row[key]
    return sums


def tensors_of(name, edges, tile, rows):
    """name -> (shape, numbers) of one causal layer."""
    heads, length = len(edges), len(edges[0])
    tiles = -(-length // tile)
    return {f"{name}.tile_mass": ([heads, tiles, tiles], summed(edges, tiles * tiles, lambda query, key: query // tile * tiles + key // tile)),
            f"{name}.distance_mass": ([heads, 2 * length - 1], summed(edges, 2 * length - 1, lambda query, key: query - key + length - 1)),
            f"{name}.key_mass": ([heads, length], summed(edges, length, lambda query, key: key)),
            f"{name}.entropy": ([heads], [1000 * head for head in range(heads)]),
            f"{name}.rows": ([heads, length], [[rows(query) for query in range(length)] for _ in range(heads)]),
            f"{name}.edge_mass": ([heads, length, length], edges)}


def flat(numbers):
    return [number for part in numbers for number in flat(part)] if isinstance(numbers, list) else [numbers]


def write(path, shape, mass, tile=16, rows=lambda query: 1):
    """A decoder's profile of (layers, heads, length); mass(layer, head, query, key). Position `query` had so many rows."""
    layers, heads, length = shape
    tensors, parts = {}, []
    for layer in range(layers):
        name = f"layers.{layer}.self"
        edges = edges_of(heads, length, lambda head, query, key: mass(layer, head, query, key), rows)
        tensors |= tensors_of(name, edges, tile, rows)
        parts.append({"name": name, "layer": layer, "cross": False, "causal": True, "heads": heads, "head_dim": 16, "expression": "causal",
                      "maximum_length": length, "reason": "", "queries": length, "keys": length})
    metadata = {"version": 1, "tile": tile, "edge_limit": 1024, "model": {"path": "run", "kind": "decoder", "digest": "none"},
                "data": {"digest": "d", "texts": 1, "tokens": length}, "progress": {"shard": 0, "shards": 1, "units": 1, "complete": True},
                "parts": parts}
    header, data = {"__metadata__": {"format": "pt", "weft_profile": json.dumps(metadata)}}, b""
    for name, (shape, numbers) in sorted(tensors.items()):
        raw = struct.pack(f"<{len(flat(numbers))}q", *flat(numbers))
        header[name] = {"dtype": "I64", "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
