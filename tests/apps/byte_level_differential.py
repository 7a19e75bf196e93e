# SPDX-License-Identifier: Apache-2.0
"""Random texts through `convoy-preprocess encode` and through Hugging Face's tokenizers: the ids must be the same.

Usage: byte_level_differential.py CONVOY_PREPROCESS GOLDEN_FOLDER [TEXTS [SEED]]    (GOLDEN_FOLDER: tests/golden/hf-tokenizer)

TEXTS a tokenizer (1000). Exit code 77: tokenizers is not installed, or not the release whose ids are the golden ones.
"""
import json
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

try:
    import tokenizers
except ImportError:
    print("skipped: the Python package tokenizers is not installed")
    sys.exit(77)
if not tokenizers.__version__.startswith("0.23."):
    print(f"skipped: tokenizers is {tokenizers.__version__}, expected 0.23")
    sys.exit(77)


def read_pair(prefix):
    index = pathlib.Path(prefix + ".idx").read_bytes()
    code = {8: "H", 4: "i"}[index[17]]
    (count,) = struct.unpack_from("<Q", index, 18)
    lengths = struct.unpack_from(f"<{count}i", index, 34)
    tokens = pathlib.Path(prefix + ".bin").read_bytes()
    ids = struct.unpack(f"<{len(tokens) // struct.calcsize(code)}{code}", tokens)
    at = 0
    for length in lengths:
        yield list(ids[at:at + length])
        at += length


def differences(program, model, texts, folder):
    tokenizer = tokenizers.Tokenizer.from_file(str(model))
    expected = [(text, one.ids) for text, one in zip(texts, tokenizer.encode_batch(texts, add_special_tokens=False)) if one.ids]
    corpus = pathlib.Path(folder, "texts.jsonl")
    corpus.write_text("".join(json.dumps({"text": text}) + "\n" for text, _ in expected))
    prefix = str(pathlib.Path(folder, "out"))
    subprocess.run([program, "encode", str(corpus), "--tokenizer", str(model), "--out", prefix, "--allow-lossy"], check=True, stderr=subprocess.DEVNULL)
    found = list(read_pair(prefix))
    if len(found) != len(expected):
        yield f"expected {len(expected)} documents, found {len(found)}"
    for (text, ids), own in zip(expected, found):
        if ids != own:
            yield f"{text!a}: expected {ids}, found {own}"


def main():
    program, golden = sys.argv[1], pathlib.Path(sys.argv[2])
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    sys.path.insert(0, str(golden))
    from make import nasty_text

    failed = False
    for model in sorted(golden.glob("*.tokenizer.json")):
        generator = random.Random(seed)
        with tempfile.TemporaryDirectory() as folder:
            found = list(differences(program, model, [nasty_text(generator) for _ in range(count)], folder))
        print(f"{model.name}: {count} texts, {len(found)} differ")
        for line in found[:3]:
            print("  " + line)
        failed = failed or bool(found)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
