#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of a checkpoint save beside torch.distributed.checkpoint's and beside the floor, in one run, interleaved.

    compare_dcp.py --bench build/release/bench/save_bench --python PYTHON_WITH_TORCH --folder /dev/shm [--mib 1024] [--rounds 3]

Each round saves the same number of bytes once by save_bench (thread ranks; copy into staging memory, checksums, digests, write, fsync,
commit) and once by DCP (as many gloo processes, plain fp32 tensors, its defaults: files are synced). The first save of every process
is not counted. Prints the medians in GB/s and the ratios to DCP and to the floor (copy, CRC-32C, write, fsync of the same bytes).
"""
import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def peer(rank, ranks, store, folder, mib, rounds, out):
    import torch
    import torch.distributed as dist
    import torch.distributed.checkpoint as dcp

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=ranks)
    tensors, columns = 72, 1024
    rows = mib * 2**20 // (tensors * columns * 4) // ranks
    state = {f"rank{rank}.{i}": torch.rand(rows, columns) for i in range(tensors)}
    times = []
    for number in range(rounds + 1):
        target = Path(folder) / f"dcp-{number}"
        dist.barrier()
        start = time.perf_counter()
        dcp.save(state, checkpoint_id=str(target))
        dist.barrier()
        times.append(time.perf_counter() - start)
        if rank == 0:
            shutil.rmtree(target)
        dist.barrier()
    if rank == 0:
        Path(out).write_text(json.dumps(times[1:]))
    dist.destroy_process_group()


def dcp_round(o, work):
    store, out = work / "store", work / "times.json"
    store.unlink(missing_ok=True)
    children = [subprocess.Popen([o.python, __file__, "--peer", str(rank), str(o.ranks), str(store), str(work), str(o.mib), "1", str(out)],
                                 stderr=subprocess.PIPE) for rank in range(o.ranks)]
    errors = [child.communicate(timeout=600)[1] for child in children]
    if any(child.returncode for child in children):
        sys.exit("DCP failed:\n" + errors[0].decode()[-2000:])
    return json.loads(out.read_text())


def main():
    if len(sys.argv) > 1 and sys.argv[1] == "--peer":
        rank, ranks, store, folder, mib, rounds, out = sys.argv[2:]
        return peer(int(rank), int(ranks), store, folder, int(mib), int(rounds), out)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bench", required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--folder", required=True)
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    o = parser.parse_args()
    times = {"save": [], "stage": [], "floor": [], "dcp": []}
    with tempfile.TemporaryDirectory(dir=o.folder) as folder:
        work = Path(folder)
        for _ in range(o.rounds):
            text = subprocess.run([o.bench, str(work), str(o.mib), str(o.ranks), "1"], check=True, capture_output=True, text=True).stdout
            row = json.loads(text)
            for key in ("save", "stage", "floor"):
                times[key].append(row[key])
            times["dcp"] += dcp_round(o, work)
    median = {key: statistics.median(values) for key, values in times.items()}
    gb = o.mib * 2**20 / 1e9
    for key, values in times.items():
        print(f"{key:6} {median[key]:7.3f} s  {gb / median[key]:6.2f} GB/s  ({min(values):.3f} .. {max(values):.3f})")
    print(f"DCP / ours {median['dcp'] / median['save']:.2f}   ours / floor {median['save'] / median['floor']:.2f}")


if __name__ == "__main__":
    main()
