#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every id of the whole corpus beside the SentencePiece library's, for models of several settings.

    exact.py FOLDER [--build build/release] [--mb 0] [--jobs 1] [--models NAME ...]

FOLDER is compare.py's. The models are a real one (BPE), the same family's next ones with control symbols, one of our own (unigram), and
these with other settings, which are appended to the file: a field that occurs again replaces the first. Prints a line a model as it ends;
exit code 1 if one id differs. The library does a few MB a second, so the whole corpus takes minutes a model.
"""
import argparse
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import prepare

# Bytes of a ModelProto: tag and length of trainer_spec (12) or normalizer_spec (1a), then the field.
SETTINGS = {
    "": b"",
    "no-dummy-prefix": b"\x1a\x02\x18\x00",
    "blanks-collapse": b"\x1a\x02\x20\x01",
    "blanks-as-they-are": b"\x1a\x02\x28\x00",
    "suffix": b"\x12\x03\xc0\x01\x01",
}
WHICH = [("bpe", ""), ("unigram", ""), ("bpe", "no-dummy-prefix"), ("unigram", "no-dummy-prefix"), ("bpe", "blanks-collapse"),
         ("unigram", "blanks-collapse"), ("bpe-v3", ""), ("bpe", "suffix"), ("unigram", "suffix"), ("bpe-v7", ""),
         ("bpe", "blanks-as-they-are"), ("unigram", "blanks-as-they-are")]
SHIPPED = {"bpe-v3": "mistral_instruct_tokenizer_240323.model.v3", "bpe-v7": "mistral_instruct_tokenizer_241114.model.v7"}


def model_file(folder, base, setting):
    shipped = folder / "mistral" / "mistral_common" / "data"
    source = shipped / SHIPPED[base] if base in SHIPPED else folder / f"{base}.model"
    model = folder / "work" / f"{base}-{setting or 'plain'}.model"
    model.write_bytes(source.read_bytes() + SETTINGS[setting])
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[3] / "build" / "release")
    parser.add_argument("--mb", type=int, default=0, help="of the corpus; 0: all of it")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--models", nargs="+", help="as printed; all without it")
    o = parser.parse_args()
    (o.folder / "work").mkdir(exist_ok=True)
    subprocess.run([sys.executable, Path(__file__).with_name("corpus.py"), o.folder], check=True, stdout=subprocess.DEVNULL)
    prepare.real_model(o.folder, prepare.peers_python(o.folder))
    prepare.unigram_model(o.folder, o.build / "bin" / "convoy-preprocess")

    def compare(which):
        model = model_file(o.folder, *which)
        if o.models and model.stem not in o.models:
            return True
        done = subprocess.run([o.build / "bench" / "encoder_bench", model, o.folder / "corpus.jsonl", str(o.mb)], capture_output=True, text=True)
        row = re.search(r"(\d+) documents; (\d+) differ.*?library +([\d.]+ MB).*?cold .*?([\d.]+) times", done.stdout, re.S)
        print(f"{model.stem:28}" + (f"{row[3]:>12}{row[1]:>9} documents, {row[2]} differ; {row[4]} times the library's speed" if row
                                    else f" failed: {done.stdout[-300:]}{done.stderr[-300:]}"), flush=True)
        return row is not None and row[2] == "0"

    with ThreadPoolExecutor(o.jobs) as pool:
        return 0 if all(list(pool.map(compare, WHICH))) else 1


if __name__ == "__main__":
    sys.exit(main())
