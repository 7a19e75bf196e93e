# SPDX-License-Identifier: Apache-2.0
"""The parts bpe and unigram of compare.py: texts to ids, every tool in turn."""
import json
import re
import subprocess
import time
from pathlib import Path

from measure import Rates, differences, run_measured

HERE = Path(__file__).resolve().parent


class Encoding:
    """The part that turns texts of one model into ids."""

    def __init__(self, o, model, peers, slices, reference="spm_encode"):
        self.ratio_to = reference
        self.o, self.model, self.slices, self.rates, self.documents = o, model, slices, Rates(), {}
        self.reference = [one.reference(o, model, 1) for one in slices]
        self.head_reference = o.head.reference(o, model, 1000)
        self.tools = [self.own, *(lambda r, peer=peer: self.peer(peer, r) for peer in peers)]
        if model.suffix == ".json":
            return
        if o.spm:
            self.tools.append(self.spm_encode)
        else:
            print("spm_encode is not here (apt-get download sentencepiece): left out")

    def run(self):
        for r in range(self.o.rounds):
            for tool in self.tools[r % len(self.tools):] + self.tools[:r % len(self.tools)]:
                tool(r)
        unit = "CPU second, one thread" if self.o.threads == 1 else f"second, {self.o.threads} threads"
        self.rates.print(f"{self.model.name}: MB of text a {unit}", next((name for name in self.rates.of if name.startswith(self.ratio_to)), ""))

    def own(self, _):
        o = self.o
        text = subprocess.run([str(o.bench), str(self.model), str(o.corpus), str(o.mb), "1", str(o.threads)], capture_output=True, text=True).stdout
        exact = re.search(r"(\d+) differ from", text)
        library = "our slow reference" if self.model.suffix == ".json" else "the library a document, C++"
        for name, label in (("cold", "convoy, cold"), ("repeated", "convoy, repeated"), ("library", library),
                            (f"{o.threads} threads", "convoy, cold")):
            found = re.search(rf"^{name} .* ([\d.]+) MB/s", text, re.M)
            if found:
                self.rates.add(label, float(found[1]), f"{exact[1]} differ" if exact and name == "cold" else "")

    def peer(self, tool, r):
        one, out = self.slices[r], self.o.work / f"{tool}.npz"
        out.unlink(missing_ok=True)
        fast = tool == "gigatoken"
        corpus, size = (self.o.head.json, self.o.head.bytes) if fast else (one.json, one.bytes)
        done = subprocess.run([str(self.o.python), str(HERE / "peer.py"), tool, str(self.model), str(corpus), str(self.o.threads), str(out)],
                              capture_output=True, text=True)
        if done.returncode != 0:
            if r == 0:
                print(f"{tool}: left out: {(done.stderr.strip().splitlines() or ['no reason given'])[-1]}")
            return
        row = json.loads(done.stdout.splitlines()[-1])
        for number, spent in enumerate(row["passes"]):
            name = f"{tool} {row['version']}" + (", cold" if len(row["passes"]) > 1 and number == 0 else ", repeated" if number else "")
            self.rates.add(name, size / 1e6 / spent["cpu" if self.o.threads == 1 else "wall"], self.compared(tool, name, r, out, fast))

    # A fast tool reads the same in each round, so it is compared once.
    def compared(self, tool, name, r, out, fast):
        if name.endswith("repeated"):
            return ""
        reference = self.head_reference if fast else self.reference[r]
        count, of = self.documents.get(tool, (0, 0))
        if fast and of:
            return f"{count} of {of} differ"
        found = differences(reference, out)
        if isinstance(found, str):
            return found
        self.documents[tool] = (count + found, of + len(reference[0]))
        return "{} of {} differ".format(*self.documents[tool])

    def spm_encode(self, r):
        o, one = self.o, self.slices[r]
        command = [o.spm, f"--model={self.model}", "--output_format=id"]
        if o.threads == 1:
            cpu, _, _ = run_measured(command, stdin=one.text.open())
            self.rates.add("spm_encode", one.bytes / 1e6 / cpu, "the reference on lines")
            return
        parts = [o.work / f"part{i}.txt" for i in range(o.threads)]
        lines = one.text.read_text().split("\n")
        for i, part in enumerate(parts):
            part.write_text("\n".join(lines[i * len(lines) // o.threads:(i + 1) * len(lines) // o.threads]) + "\n")
        start = time.perf_counter()
        children = [subprocess.Popen([str(c) for c in command], stdin=part.open(), stdout=subprocess.DEVNULL) for part in parts]
        [child.wait() for child in children]
        self.rates.add("spm_encode", one.bytes / 1e6 / (time.perf_counter() - start), "the reference on lines")
