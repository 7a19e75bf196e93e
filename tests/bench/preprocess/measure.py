# SPDX-License-Identifier: Apache-2.0
"""Rates of tools over rounds, children with their CPU time, parts of the corpus, and ids compared (for compare.py)."""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


class Rates:
    """Rates of each tool, a round at a time, in the order in which they first came."""

    def __init__(self):
        self.of, self.notes = {}, {}

    def add(self, name, rate, note=""):
        self.of.setdefault(name, []).append(rate)
        if note or name not in self.notes:
            self.notes[name] = note

    def median(self, name):
        return statistics.median(self.of[name]) if name in self.of else None

    def print(self, title, reference):
        print(f"\n{title}\n{'tool':44}{'median':>9}{'lowest':>9}{'highest':>9}{'ratio':>8}  ids")
        base = self.median(reference)
        for name, rates in sorted(self.of.items(), key=lambda item: statistics.median(item[1])):
            ratio = f"{self.median(name) / base:8.2f}" if base else " " * 8
            print(f"{name:44}{self.median(name):9.2f}{min(rates):9.2f}{max(rates):9.2f}{ratio}  {self.notes[name]}")


def run_measured(command, **arguments):
    """(CPU seconds, wall seconds, peak MB) of a child."""
    start, peak = time.perf_counter(), 0
    with tempfile.TemporaryFile() as errors:
        child = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL, stderr=errors, **arguments)
        # What the kernel says of an ended child counts the memory of the Python that it was forked from.
        while (ended := os.wait4(child.pid, os.WNOHANG))[0] == 0:
            found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{child.pid}/status").read_text())
            peak = int(found[1]) / 1000 if found else peak
            time.sleep(0.005)
        _, status, usage = ended
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            errors.seek(0)
            sys.exit(f"{command[0]}: code {child.returncode}: {errors.read().decode()[-1000:]}")
    return usage.ru_utime + usage.ru_stime, time.perf_counter() - start, peak


class Slice:
    """Some documents of the corpus as files: JSON lines, plain lines, the pair with the library's ids."""

    def __init__(self, folder, name, lines):
        self.json, self.text, self.prefix = folder / f"{name}.jsonl", folder / f"{name}.txt", folder / name
        texts = [json.loads(line)["text"] for line in lines]
        self.bytes = sum(len(text.encode()) for text in texts)
        self.json.write_text("".join(lines))
        self.text.write_text("\n".join(texts) + "\n")

    def reference(self, o, model, verify_every):
        """Lengths and ids by convoy-preprocess, one of `verify_every` documents compared with the library."""
        import numpy

        prefix = Path(f"{self.prefix}-{model.stem}")
        run_measured([o.program, "encode", self.json, "--tokenizer", model, "--out", prefix, "--verify-encoder", verify_every,
                      "--dtype", "i32", "--allow-lossy"])
        count = int.from_bytes(Path(f"{prefix}.idx").read_bytes()[18:26], "little")
        return numpy.fromfile(f"{prefix}.idx", numpy.int32, count, offset=34), numpy.fromfile(f"{prefix}.bin", numpy.int32)


def cut_slices(corpus, folder, name, megabytes, count):
    slices, lines, size = [], [], 0
    with open(corpus, encoding="utf-8") as source:
        for line in source:
            lines.append(line)
            size += len(line.encode())
            if size < megabytes * 1e6:
                continue
            slices.append(Slice(folder, f"{name}{len(slices)}", lines))
            lines, size = [], 0
            if len(slices) == count:
                break
    return slices


def differences(reference, path):
    import numpy

    lengths, ids = reference
    found = numpy.load(path)
    theirs, their_ids = found["lengths"], found["ids"]
    theirs = theirs[theirs > 0]
    if len(theirs) != len(lengths):
        return f"{abs(len(theirs) - len(lengths))} documents too many or few"
    ours_end, their_end = numpy.cumsum(lengths), numpy.cumsum(theirs)
    return sum(not numpy.array_equal(ids[a - n:a], their_ids[b - m:b]) for a, n, b, m in zip(ours_end, lengths, their_end, theirs))
