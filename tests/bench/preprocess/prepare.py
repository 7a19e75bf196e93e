# SPDX-License-Identifier: Apache-2.0
"""What compare.py needs beside the build, made once in its folder: a tokenizer that people use, the peers, a unigram model."""
import json
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


# The pattern that Llama 3's tokenizer splits by; it is part of every such tokenizer.json.
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def byte_level_model(folder):
    """A tokenizer.json of 32,000 pieces, trained by the tokenizers library on the first lines of the corpus."""
    model = folder / "bytelevel.json"
    if not model.exists():
        from itertools import islice

        from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3), "isolated"),
                                                           pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(vocab_size=32000, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), special_tokens=["<|end_of_text|>"],
                                      show_progress=False)
        with open(folder / "corpus.jsonl", encoding="utf-8") as lines:
            tokenizer.train_from_iterator((json.loads(line)["text"] for line in islice(lines, 20_000)), trainer)
        tokenizer.save(str(model))
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
