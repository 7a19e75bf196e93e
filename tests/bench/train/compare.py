#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training speed beside PyTorch's, in one run, interleaved: prints tokens/s of both and the ratio, a line a configuration.

    compare.py --bin build/release/bin [--python PYTHON_WITH_TORCH] [--threads 1] [--rounds 3] [--only llama-15m:bf16]

Each round trains a few steps with convoy-train and then the same shape with PyTorch (peer_torch.py); the first step of a
process is left out, and the medians over all rounds are compared. Random tokens: speed does not depend on the text.
"""
import argparse
import array
import json
import random
import statistics
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIGURATIONS = {  # name: (micro-batch, sequence, vocabulary, steps a round by precision)
    "llama-15m": (8, 256, 32000, {"fp32": 6, "bf16": 4}),
    "gpt2-124m": (2, 512, 50257, {"fp32": 3, "bf16": 3}),
}


def write_pair(prefix, tokens):
    """A Megatron pair of one document."""
    Path(f"{prefix}.bin").write_bytes(array.array("H", tokens).tobytes())
    with open(f"{prefix}.idx", "wb") as f:
        f.write(b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, 8, 1, 2) + struct.pack("<iqqq", len(tokens), 0, 0, 1))


def ours(o, name, precision, work, round_number):
    batch, sequence, vocabulary, steps = CONFIGURATIONS[name]
    data = work / f"{name}-data"
    if not data.with_suffix(".bin").exists():
        rng = random.Random(1)
        write_pair(data, [rng.randrange(vocabulary) for _ in range(batch * sequence * 16 + 1)])
    run = work / f"{name}-{precision}-{round_number}"
    command = [o.bin / "convoy-train", "run", "--model", name, "--data", data, "--foreign-data", "--out", run, "--sequence-length", sequence]
    command += ["--global-batch-size", batch, "--micro-batch-size", batch, "--steps", steps[precision], "--lr", "1e-4", "--lr-schedule", "constant"]
    command += ["--precision", precision, "--threads", o.threads, "--dropout", 0, "--tensorboard", "no", "--log-level", "error"]
    subprocess.run([str(a) for a in command], check=True)
    rows = [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]
    return [row["step_seconds"] for row in rows if row["kind"] == "timing"]


def peer(o, name, precision):
    batch, sequence, _, steps = CONFIGURATIONS[name]
    command = [o.python, HERE / "peer_torch.py", "--model", name, "--precision", precision, "--batch", batch, "--sequence", sequence]
    command += ["--steps", steps[precision], "--threads", o.threads]
    return json.loads(subprocess.run([str(a) for a in command], check=True, capture_output=True, text=True).stdout)["seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", default=[], metavar="MODEL:PRECISION")
    o = parser.parse_args()
    print(f"{'model':<10} {'precision':<9} {'threads':>7} {'convoy tok/s':>13} {'torch tok/s':>12} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        for name, (batch, sequence, _, _) in CONFIGURATIONS.items():
            for precision in ("fp32", "bf16"):
                if o.only and f"{name}:{precision}" not in o.only:
                    continue
                mine, theirs = [], []
                for round_number in range(o.rounds):
                    mine += ours(o, name, precision, Path(folder), round_number)[1:]
                    theirs += peer(o, name, precision)[1:]
                rates = [batch * sequence / statistics.median(s) for s in (mine, theirs)]
                print(f"{name:<10} {precision:<9} {o.threads:>7} {rates[0]:>13.0f} {rates[1]:>12.0f} {rates[0] / rates[1]:>6.2f}", flush=True)


if __name__ == "__main__":
    main()
