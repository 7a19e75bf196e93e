#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tokenizing and preprocessing beside what others use, in one run, interleaved.

    compare.py FOLDER [--build build/release] [--part NAME ...] [--mb 100] [--slow-mb 12] [--rounds 3] [--threads 1]

FOLDER gets the corpus (corpus.py) and the peers (prepare.py) once. In each round every tool has its turn; who begins changes from round to
round. Fast tools read the first --mb of the corpus each time, slow ones other --slow-mb of it each round. Rates are MB of text a second: of
CPU time with one thread, of wall time with several; medians, with the lowest and highest round. Ids of every tool are compared, document by
document, with those of convoy-preprocess --verify-encoder 1, which ends with an error where it differs from the library. What cannot be
had here is named and left out. Needs a build with -DCONVOY_BUILD_BENCHES=ON, zstd, and Python's venv; the megatron row wants torch.

parts: bpe, unigram and json (byte-level BPE of a tokenizer.json), ids a thread; pipeline, JSONL.zst to a pair beside the encoder alone;
shapes, a million documents of 100 bytes and 100,000 files.
"""
import argparse
import subprocess
import sys
from pathlib import Path

import prepare
from encoding import Encoding
from measure import cut_slices
from pipelines import run_pipeline, run_shapes

HERE = Path(__file__).resolve().parent
PARTS = ["bpe", "unigram", "json", "pipeline", "shapes"]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, default=HERE.parents[2] / "build" / "release")
    parser.add_argument("--part", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--mb", type=int, default=100)
    parser.add_argument("--slow-mb", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    o = arguments()
    o.folder = o.folder.resolve()
    o.python = prepare.peers_python(o.folder)
    if Path(sys.prefix) != o.folder / "venv":
        return subprocess.run([str(o.python), __file__, *sys.argv[1:]]).returncode
    o.program, o.bench = o.build / "bin" / "convoy-preprocess", o.build / "bench" / "encoder_bench"
    o.corpus, o.work = o.folder / "corpus.jsonl", o.folder / "work"
    o.work.mkdir(exist_ok=True)
    subprocess.run([sys.executable, HERE / "corpus.py", o.folder], check=True, stdout=subprocess.DEVNULL)
    o.spm = prepare.spm_encode(o.folder)
    o.head = cut_slices(o.corpus, o.work, "head", o.mb, 1)[0]
    slices = cut_slices(o.corpus, o.work, "slice", o.slow_mb, o.rounds)
    bpe = prepare.real_model(o.folder, o.python)
    if "bpe" in o.part:
        Encoding(o, bpe, ["sentencepiece", "tokenizers", "gigatoken"], slices).run()
    if "unigram" in o.part:
        Encoding(o, prepare.unigram_model(o.folder, o.program), ["sentencepiece"], slices).run()
    if "json" in o.part:
        Encoding(o, prepare.byte_level_model(o.folder), ["tokenizers", "tiktoken", "gigatoken"], slices, reference="tokenizers").run()
    if "pipeline" in o.part:
        run_pipeline(o, bpe, slices)
    if "shapes" in o.part:
        run_shapes(o, bpe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
