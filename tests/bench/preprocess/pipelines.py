# SPDX-License-Identifier: Apache-2.0
"""The parts pipeline and shapes of compare.py: from a compressed corpus to a pair, and inputs of unusual sizes."""
import json
import re
import subprocess
import time
from pathlib import Path

from measure import Rates, run_measured

HERE = Path(__file__).resolve().parent
SMALL = 100  # bytes of a small document


def encoder_alone(o, model, corpus):
    """MB a second of o.threads threads that do nothing but encode; the texts are in memory."""
    text = subprocess.run([str(o.bench), str(model), str(corpus), "0", "0", str(o.threads)], capture_output=True, text=True).stdout
    found = re.search(rf"^{'cold' if o.threads == 1 else f'{o.threads} threads'} .*?([\d.]+) MB/s", text, re.M)
    return float(found[1])


def encode(o, model, inputs, threads, *more):
    """(CPU seconds, wall seconds, those of them before the files are synced, peak MB, MB of text)."""
    cpu, wall, peak = run_measured([o.program, "encode", inputs, "--tokenizer", model, "--out", o.work / "pair", "--append-eos",
                                    "--threads", threads, *more])
    about = json.loads((o.work / "pair.meta.json").read_text())
    return cpu, wall, about["seconds"], peak, about["text_bytes"] / 1e6


def compressed(path):
    packed = Path(f"{path}.zst")
    if not packed.exists() or packed.stat().st_mtime < path.stat().st_mtime:
        subprocess.run(["zstd", "-q", "-f", path, "-o", packed], check=True)
    return packed


def run_pipeline(o, model, slices):
    corpus, rates, peak = compressed(o.corpus), Rates(), 0

    def ours(_):
        nonlocal peak
        cpu, wall, unsynced, memory, size = encode(o, model, corpus, o.threads)
        peak = max(peak, memory)
        if o.threads > 1:
            rates.add("convoy-preprocess, to synced files", size / wall)
        rates.add("convoy-preprocess, JSONL.zst to a pair", size / (cpu if o.threads == 1 else unsynced), f"peak {peak:.0f} MB")

    def alone(_):
        rates.add("our encoder alone", encoder_alone(o, model, o.corpus))

    def peer(tool, one, note):
        done = subprocess.run([str(o.python), str(HERE / "peer.py"), tool, str(model), str(one.json), str(o.threads), "-"],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return print(f"{tool}: left out: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
        row = json.loads(done.stdout.splitlines()[-1])
        spent = row["passes"][0]["cpu" if o.threads == 1 else "wall"]
        rates.add(f"{tool} {row['version']}", one.bytes / 1e6 / spent, note)

    tools = [ours, alone, lambda r: peer("gigatoken-files", o.head, "JSONL to ids in memory"),
             lambda r: peer("megatron", slices[r], f"JSONL to a pair, {o.threads} worker{'s' * (o.threads > 1)} and the parent")]
    for r in range(o.rounds):
        for tool in tools[r % len(tools):] + tools[:r % len(tools)]:
            tool(r)
    unit = "CPU second, 1 thread" if o.threads == 1 else f"second, {o.threads} threads"
    rates.print(f"pipelines: MB of text a {unit}", "our encoder alone")


def write_small(o, count):
    """`count` documents of about SMALL bytes, cut from the corpus at characters."""
    path, made = o.work / "small.jsonl", 0
    with open(path, "w") as out:
        for line in open(o.corpus, encoding="utf-8"):
            text = json.loads(line)["text"]
            for begin in range(0, len(text), SMALL):
                out.write(json.dumps({"text": text[begin:begin + SMALL]}, ensure_ascii=False) + "\n")
                made += 1
                if made == count:
                    return path
    return path


def write_files(o, count):
    folder = o.work / "files"
    if not folder.exists():
        for number in range(count):
            part = folder / f"{number // 1000:03d}"
            part.mkdir(parents=True, exist_ok=True)
            (part / f"{number % 1000:03d}.txt").write_text(f"file {number} of many\n")
    return folder


def run_shapes(o, model):
    rates, small, files = Rates(), write_small(o, 1_000_000), write_files(o, 100_000)
    for _ in range(o.rounds):
        for name, inputs in (("documents as they are", o.head.json), ("1,000,000 documents of 100 characters", small)):
            cpu, *_, size = encode(o, model, inputs, 1)
            rates.add(name, size / cpu)
    rates.print("convoy-preprocess encode: MB of text a CPU second, 1 thread", "documents as they are")
    for threads in (1, 2):
        start = time.perf_counter()
        encode(o, model, files, threads)
        print(f"100,000 files of 20 bytes, {threads} threads: {time.perf_counter() - start:.2f} s in all")
