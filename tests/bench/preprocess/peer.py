# SPDX-License-Identifier: Apache-2.0
"""One tokenizer or pipeline over one JSON Lines file, for compare.py, in a process of its own.

    peer.py TOOL MODEL CORPUS.jsonl THREADS IDS.npz

Prints one JSON object: the version, and CPU and wall seconds of each pass. Reading the corpus, importing and loading the model are not
counted, but for the pipelines (gigatoken-files, megatron), whose work it is to read. IDS.npz gets every document's ids where the tool has
the model's vocabulary.
"""
import json
import os
import sys
import tempfile
import time
from importlib.metadata import version
from multiprocessing import Pool


def texts_of(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


def seconds():
    t = os.times()
    return t.user + t.system + t.children_user + t.children_system


def timed(passes, work):
    cpu, wall = seconds(), time.perf_counter()
    result = work()
    passes.append({"cpu": seconds() - cpu, "wall": time.perf_counter() - wall})
    return result


def write_ids(path, documents):
    import numpy

    lengths = [len(ids) for ids in documents]
    numpy.savez(path, lengths=lengths, ids=numpy.concatenate([numpy.asarray(ids, dtype=numpy.int32) for ids in documents]))


def sentencepiece(model, corpus, threads, passes):
    from sentencepiece import SentencePieceProcessor

    processor, texts = SentencePieceProcessor(model_file=model), texts_of(corpus)
    return timed(passes, lambda: processor.encode(texts, num_threads=threads))


def tokenizers(model, corpus, threads, passes):
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
    from tokenizers import Tokenizer

    tokenizer, texts = Tokenizer.from_file(json_of(model)), texts_of(corpus)
    encoded = timed(passes, lambda: tokenizer.encode_batch_fast(texts, add_special_tokens=False))
    return [one.ids for one in encoded]


def json_of(model):
    """The SentencePiece model as a tokenizer.json, by gigatoken's converter."""
    if model.endswith(".json"):
        return model
    from gigatoken._load.sentencepiece import sentencepiece_to_tokenizer_json

    converted = model + ".tokenizer.json"
    if not os.path.exists(converted):
        text = sentencepiece_to_tokenizer_json(open(model, "rb").read())
        with open(converted, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
    return converted


def gigatoken_of(model, threads):
    os.environ["RAYON_NUM_THREADS"] = str(threads)
    import gigatoken

    return gigatoken, gigatoken.Tokenizer(json_of(model))


def gigatoken(model, corpus, threads, passes):
    _, tokenizer = gigatoken_of(model, threads)
    texts = texts_of(corpus)
    encoded = timed(passes, lambda: tokenizer.encode_batch(texts, parallel=threads > 1))
    timed(passes, lambda: tokenizer.encode_batch(texts, parallel=threads > 1))
    import numpy

    return [numpy.asarray(ids) for ids in encoded]


def gigatoken_files(model, corpus, threads, passes):
    module, tokenizer = gigatoken_of(model, threads)
    timed(passes, lambda: tokenizer.encode_files(module.JsonlFileSource([corpus]), parallel=threads > 1))


def byte_of():
    """The byte that each character of a byte-level vocabulary stands for."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    hidden = [byte for byte in range(256) if byte not in shown]
    return {chr(byte): byte for byte in shown} | {chr(256 + i): byte for i, byte in enumerate(hidden)}


def tiktoken(model, corpus, threads, passes):
    from tiktoken import Encoding

    with open(model, encoding="utf-8") as file:
        described = json.load(file)
    byte, special = byte_of(), {token["content"] for token in described["added_tokens"]}
    ranks = {bytes(byte[c] for c in piece): rank for piece, rank in described["model"]["vocab"].items() if piece not in special}
    encoding = Encoding("peer", pat_str=described["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"], mergeable_ranks=ranks, special_tokens={})
    texts = texts_of(corpus)
    return timed(passes, lambda: encoding.encode_ordinary_batch(texts, num_threads=threads))


def load_in_worker(model):
    global worker_model
    from sentencepiece import SentencePieceProcessor

    worker_model = SentencePieceProcessor(model_file=model)


def encode_line(line):
    ids = worker_model.encode(json.loads(line)["text"])
    if ids:
        ids.append(worker_model.eos_id())
    return ids, len(line)


def megatron(model, corpus, threads, passes):
    """What Megatron's preprocessing does a document: worker processes parse and encode, the parent gives the ids to its builder."""
    from megatron.core.datasets.indexed_dataset import DType, IndexedDatasetBuilder

    load_in_worker(model)
    dtype = DType.optimal_dtype(worker_model.get_piece_size())

    def run():
        with tempfile.TemporaryDirectory() as folder, Pool(threads, initializer=load_in_worker, initargs=(model,)) as pool:
            builder = IndexedDatasetBuilder(folder + "/pair.bin", dtype=dtype)
            with open(corpus, encoding="utf-8") as lines:
                for ids, _ in pool.imap(encode_line, lines, 32):
                    builder.add_document(ids, [len(ids)] if ids else [])
            builder.finalize(folder + "/pair.idx")
            pool.close()
            pool.join()

    timed(passes, run)


TOOLS = {"sentencepiece": ("sentencepiece", sentencepiece), "tokenizers": ("tokenizers", tokenizers), "gigatoken": ("gigatoken", gigatoken),
         "tiktoken": ("tiktoken", tiktoken), "gigatoken-files": ("gigatoken", gigatoken_files), "megatron": ("megatron-core", megatron)}


def main():
    tool, model, corpus, threads, out = sys.argv[1:]
    package, run = TOOLS[tool]
    passes = []
    documents = run(model, corpus, int(threads), passes)
    if documents is not None:
        write_ids(out, documents)
    print(json.dumps({"version": version(package), "passes": passes}))


if __name__ == "__main__":
    main()
