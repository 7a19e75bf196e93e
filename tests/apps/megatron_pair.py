#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads and writes a dataset pair by megatron-core's own classes.

    megatron_pair.py read PREFIX               prints {"dtype": NAME, "documents": [[ID, ...], ...]}
    megatron_pair.py write PREFIX VOCABULARY   documents as [[ID, ...], ...] on standard input; Megatron's type for the vocabulary

Exit code 77 where megatron-core is missing (pip install --no-deps megatron-core, beside torch and numpy).
"""
import json
import sys

try:
    from megatron.core.datasets.indexed_dataset import DType, IndexedDataset, IndexedDatasetBuilder
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)


def read(prefix):
    dataset = IndexedDataset(prefix)
    ends = dataset.document_indices
    documents = [[int(token) for sequence in range(begin, end) for token in dataset[sequence]] for begin, end in zip(ends, ends[1:])]
    json.dump({"dtype": dataset.index.dtype.__name__, "documents": documents}, sys.stdout)


def write(prefix, vocabulary):
    builder = IndexedDatasetBuilder(prefix + ".bin", dtype=DType.optimal_dtype(int(vocabulary)))
    for ids in json.load(sys.stdin):
        builder.add_document(ids, [len(ids)])
    builder.finalize(prefix + ".idx")


if __name__ == "__main__":
    {"read": read, "write": write}[sys.argv[1]](*sys.argv[2:])
