# SPDX-License-Identifier: Apache-2.0
"""An encoder of base size in transformers, random weights: transformers_peer.py FAMILY LENGTH DTYPE forward|train THREADS

Prints {"seconds", "peak_gb"}: the fastest of two runs after one that is not counted, and the most memory that the process held.
"""
import json
import resource
import sys
import time

import torch
import transformers

MAKERS = {
    "big_bird": lambda length: transformers.BigBirdForMaskedLM(transformers.BigBirdConfig(vocab_size=50358, max_position_embeddings=length + 2)),
    "longformer": lambda length: transformers.LongformerForMaskedLM(
        transformers.LongformerConfig(vocab_size=50265, max_position_embeddings=length + 2, attention_window=512, pad_token_id=1)),
}


def main():
    family, length, dtype, task, threads = sys.argv[1], int(sys.argv[2]), getattr(torch, sys.argv[3]), sys.argv[4], int(sys.argv[5])
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    model = MAKERS[family](length).to(dtype)
    ids = torch.randint(5, 5000, (1, length))
    model.train(task == "train")

    def forward():
        with torch.no_grad():
            model.base_model(ids)

    def step():
        model.zero_grad()
        model(ids, labels=ids).loss.backward()

    times = []
    for _ in range(3):
        begin = time.perf_counter()
        (step if task == "train" else forward)()
        times.append(time.perf_counter() - begin)
    print(json.dumps({"seconds": min(times[1:]), "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9}))


if __name__ == "__main__":
    main()
