#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a corpus of real text from the documentation and source in Debian packages, which are fetched and unpacked, not installed.

    corpus.py FOLDER [--packages NAME ...]

FOLDER/corpus.jsonl has one {"text": ...} a line, each text once, in the order of their SHA-256, so that kinds and languages are mixed and
the same packages give the same file. Prints documents, bytes of text, the packages' versions and the file's SHA-256; a corpus that is
there is kept. Needs apt-get and dpkg-deb, and the network once.
"""
import argparse
import gzip
import hashlib
import html
import json
import re
import subprocess
import sys
from pathlib import Path

# Documentation of kernel, languages and tools, source in four languages, dictionaries, man pages and a book in many languages, short sayings.
PACKAGES = """linux-doc-6.1 python3.11-doc perl-doc git-doc postgresql-doc-15 vim-runtime debian-handbook golang-1.19-src rust-src
dict-gcide dict-foldoc wordnet-base debian-reference-ja debian-reference-zh-cn manpages manpages-dev manpages-de manpages-ja manpages-zh
fortunes fortunes-de fortunes-ru fortunes-zh""".split()
NO_TEXT = {".png", ".svg", ".gif", ".xpm", ".jpg", ".js", ".css", ".dat", ".index", ".idx", ".mo", ".ps", ".u8", ".inv", ".ico", ".pdf"}
LARGEST = 2_000_000  # bytes of a document; the library takes minutes for longer ones


def fetch(packages, folder):
    debs, tree = folder / "debs", folder / "tree"
    for part in (debs, tree):
        part.mkdir(parents=True, exist_ok=True)
    missing = [name for name in packages if not list(debs.glob(f"{name}_*.deb"))]
    if missing:
        subprocess.run(["apt-get", "download", "-q", *missing], cwd=debs, check=True, stdout=subprocess.DEVNULL)
    found = sorted(deb for name in packages for deb in debs.glob(f"{name}_*.deb"))
    for deb in found:
        if not (tree / deb.stem).exists():
            subprocess.run(["dpkg-deb", "-x", deb, tree / deb.stem], check=True)
    return [(deb.stem, tree / deb.stem) for deb in found]


def without_tags(page):
    page = re.sub(r"(?is)<(script|style)\b.*?</\1>", "", page)
    return html.unescape(re.sub(r"<[^>]{1,400}>", "", page))


def texts_of(path):
    content = path.read_bytes()
    if path.suffix in (".gz", ".dz"):
        content = gzip.decompress(content)
    if b"\0" in content[:4096]:
        return []
    text = content.decode()
    name = str(path)
    if ".htm" in name:
        return [without_tags(text)]
    if "/games/fortunes/" in name:
        return re.split(r"\n%\n", text)
    if name.endswith(".dict.dz"):
        return re.split(r"\n(?=\S)", text)
    if "/wordnet/" in name:
        return text.split("\n")
    return [text]


def documents(roots):
    seen = {}
    for _, root in roots:
        for path in sorted(root.rglob("*")):
            if path.is_symlink() or not path.is_file() or path.suffix in NO_TEXT:
                continue
            try:
                texts = texts_of(path)
            except (UnicodeDecodeError, gzip.BadGzipFile, EOFError):
                continue
            for text in texts:
                encoded = text.strip("\n").encode()
                if 0 < len(encoded) < LARGEST:
                    seen.setdefault(hashlib.sha256(encoded).digest(), encoded)
    return [seen[key] for key in sorted(seen)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--packages", nargs="+", default=PACKAGES)
    o = parser.parse_args()
    corpus, about = o.folder / "corpus.jsonl", o.folder / "corpus.json"
    if not (corpus.exists() and about.exists()):
        roots = fetch(o.packages, o.folder.resolve())
        texts = documents(roots)
        with corpus.open("w") as out:
            out.writelines(json.dumps({"text": text.decode()}, ensure_ascii=False) + "\n" for text in texts)
        with corpus.open("rb") as made:
            digest = hashlib.file_digest(made, "sha256").hexdigest()
        about.write_text(json.dumps({"documents": len(texts), "text_bytes": sum(map(len, texts)), "sha256": digest,
                                     "packages": [name for name, _ in roots]}, indent=1) + "\n")
    sys.stdout.write(about.read_text())


if __name__ == "__main__":
    main()
