# SPDX-License-Identifier: Apache-2.0
"""What compare.py needs beside the build, made once in its folder: a tokenizer that people use, the peers, a unigram model."""
import subprocess
import sys
import venv
from pathlib import Path

PEERS = ["sentencepiece==0.2.3", "tokenizers", "gigatoken", "tiktoken", "numpy"]
BARE_PEERS = ["megatron-core"]  # its requirements are for training; only its dataset writer is used, which wants torch


def pip_install(python, *arguments):
    done = subprocess.run([python, "-m", "pip", "install", "-q", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        print(f"not installed: {' '.join(arguments)}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)


def peers_python(folder):
    """A Python with the peers; one that cannot be had is missing in it."""
    python = folder / "venv" / "bin" / "python"
    if not python.exists():
        venv.create(folder / "venv", with_pip=True, system_site_packages=True)
        for peer in PEERS:
            pip_install(python, peer)
        for peer in BARE_PEERS:
            pip_install(python, "--no-deps", peer)
    return python


def real_model(folder, python):
    """Mistral's first SentencePiece model: 32,000 pieces, BPE, byte fallback, identity."""
    model = folder / "bpe.model"
    if not model.exists():
        pip_install(python, "--no-deps", "--target", folder / "mistral", "mistral-common")
        found = folder / "mistral" / "mistral_common" / "data" / "tokenizer.model.v1"
        model.write_bytes(found.read_bytes())
    return model


def unigram_model(folder, program):
    """32,000 pieces, trained on a part of the corpus."""
    model = folder / "unigram.model"
    if not model.exists():
        subprocess.run([program, "train-tokenizer", folder / "corpus.jsonl", "--model", "unigram", "--sample-bytes", "16MB", "--out",
                        model.with_suffix("")], check=True)
    return model


def spm_encode(folder):
    """Debian's program, unpacked; None if apt does not have it."""
    program = folder / "spm" / "usr" / "bin" / "spm_encode"
    if not program.exists():
        (folder / "spm").mkdir(exist_ok=True)
        got = subprocess.run(["apt-get", "download", "-q", "sentencepiece"], cwd=folder / "spm", capture_output=True)
        for deb in (folder / "spm").glob("sentencepiece_*.deb"):
            subprocess.run(["dpkg-deb", "-x", deb, folder / "spm"], check=True)
        if got.returncode != 0:
            return None
    return program
