# SPDX-License-Identifier: Apache-2.0
"""Makes the tokenizers and cases of this folder with the tokenizers package (0.23.3), see README.md.

Usage: make.py [OUT]    (this folder by default)
"""
import json
import pathlib
import random
import sys

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

HERE = pathlib.Path(__file__).resolve().parent
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN2 = LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}")
# Upper case, lower case and marks apart: a pattern that Convoy has no scanner for.
CASED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")

TEXT = [
    "The quick brown fox jumps over the lazy dog. It's what they've done, isn't it? I'll say we're 12345 and 1,000,000.50!",
    "def main(args):\n    for i in range(100):\n\t\tprint(f\"{i:>8} {args[i]}\")\r\n\r\nreturn 0x7fff;\n",
    "Größe, naïve café, Ångström; ЭТО русский текст; 这是一些中文文字。日本語のテキスト、한국어 문장. العربية עברית हिन्दी ไทย",
    "   leading and   inner   blanks\n\n\n   \n trailing   ",
    "🚢 ships 👩‍👩‍👧 emoji ½ ² ③ Ⅷ ٣ ৪ e\u0301 n\u0303 o\u0308\u0323",
]


def trained(pattern, vocabulary, *, byte_level, specials=(), normalizer=None, ignore_merges=False):
    tokenizer = Tokenizer(models.BPE(ignore_merges=ignore_merges))
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    steps = [] if pattern is None else [pre_tokenizers.Split(Regex(pattern), "isolated")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(steps + [byte_level]) if steps else byte_level
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    trainer = trainers.BpeTrainer(vocab_size=vocabulary, special_tokens=list(specials), show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())
    tokenizer.train_from_iterator(TEXT * 3, trainer)
    return tokenizer


def byte_level(**options):
    return pre_tokenizers.ByteLevel(**{"add_prefix_space": False, "use_regex": False, **options})


def with_added_tokens():
    tokenizer = trained(None, 330, byte_level=byte_level(use_regex=True), specials=["<|endoftext|>"])
    tokenizer.add_tokens([
        AddedToken("<mask>", lstrip=True, normalized=False), AddedToken("<end>", rstrip=True, normalized=False),
        AddedToken("<both>", lstrip=True, rstrip=True, normalized=False), AddedToken("word", single_word=True, normalized=False),
        AddedToken("wordy", normalized=False), AddedToken("    ", normalized=False), AddedToken("é", normalized=False),
    ])
    tokenizer.add_special_tokens([AddedToken("<|im_start|>", special=True), AddedToken("<|im|>", special=True, normalized=False)])
    return tokenizer


def tokenizers_to_make():
    yield "gpt2", trained(None, 400, byte_level=byte_level(use_regex=True), specials=["<|endoftext|>"])
    yield "gpt2-blank-first", trained(None, 330, byte_level=byte_level(use_regex=True, add_prefix_space=True), specials=["<s>", "</s>"])
    llama = trained(LLAMA3, 420, byte_level=byte_level(), ignore_merges=True)
    llama.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>", "<|reserved_special_token_0|>"])
    yield "llama3", llama
    qwen = trained(QWEN2, 380, byte_level=byte_level(), normalizer=normalizers.NFC())
    qwen.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    qwen.add_tokens([AddedToken("n\u0303o", normalized=True), AddedToken("plain", normalized=True)])
    yield "qwen2", qwen
    yield "added", with_added_tokens()
    yield "cased", trained(CASED, 360, byte_level=byte_level(), specials=["<s>", "</s>"])
    digits = Tokenizer(models.BPE())
    digits.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), byte_level(use_regex=True)])
    digits.decoder = decoders.ByteLevel()
    digits.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=350, special_tokens=["<|endoftext|>"], show_progress=False,
                                                         initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    yield "digits", digits
    behaviours = Tokenizer(models.BPE())
    behaviours.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split("-", "merged_with_previous"), pre_tokenizers.Split(Regex(r"\n+"), "contiguous"),
        pre_tokenizers.Split(Regex("[.]"), "merged_with_next"), pre_tokenizers.Split(Regex("q*"), "isolated"),
        pre_tokenizers.Split("~", "removed"), pre_tokenizers.Digits(individual_digits=False), byte_level(add_prefix_space=True)])
    behaviours.decoder = decoders.ByteLevel()
    behaviours.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=340, special_tokens=["</s>"], show_progress=False,
                                                             initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    yield "behaviours", behaviours


PIECES = [" ", "  ", "   ", "    ", "\n", "\r", "\r\n", "\n\n", "\t", "\u00a0", "\u3000", "\u2028", "\x85", "\x0b", "\x00", "\x7f", "'", "'s", "'S", "'ſ",
          "'ll", "'LL", "'lL", "'re", "'Ve", "'d", "'M", "'t", "''", "a", "b", "Z", "the", " the", "THE", "word", "wordy", "words", "plain", "\u00e9", "e\u0301",
          "n\u0303o", "\u00f1o", "\u0301", "\u0323\u0307", "\u0307\u0323", "\u1e9b\u0323", "\ufb01", "\u212b", "\u2126", "가", "\u1100\u1161", "\u1100\u1161\u11a8", "ß", "ſ",
          "中", "文字", "日本", "🚢", "👩‍👩‍👧", "½", "²", "③", "Ⅷ", "٣", "৪", "0", "1", "12", "123", "1234", "12345", "-", "--", "_", ".", "...", ",", "!", "~", "q", "qq",
          "<", "|", ">", "<|", "|>", "<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|im|>", "<|begin_of_text|>", "<|end_of_text|>", "<mask>", " <mask> ",
          "<end>", "<end>  ", "<both>", " <both>\n", "<s>", "</s>", "/", "//", "\\", "\"", "\ufeff", "\ufffd", "\U00031350", "\U0001e030", "\u1ace", "\U00016d40",
          "\U0010ffff", "\ue000", "\u0378", "Ġ", "Ċ", "ĠĠ", "\u200d", "\u200b", "\u00ad"]


def nasty_text(generator):
    parts = []
    for _ in range(generator.randint(1, 14)):
        kind = generator.random()
        if kind < 0.80:
            parts.append(generator.choice(PIECES))
        elif kind < 0.88:
            parts.append(generator.choice(PIECES) * generator.randint(2, 40))
        elif kind < 0.96:
            parts.append("".join(generator.choice("abcdefghijklmnopqrstuvwxyzABC'0123 \n.,") for _ in range(generator.randint(1, 30))))
        else:
            code = generator.randrange(0x110000)
            parts.append(chr(code) if not 0xD800 <= code < 0xE000 else "x")
    return "".join(parts)


def cases(tokenizer, generator):
    texts = TEXT + PIECES + ["".join(PIECES)] + [nasty_text(generator) for _ in range(150)]
    for text in texts:
        yield {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}


def split_special_cases(tokenizer):
    tokenizer.encode_special_tokens = True
    generator = random.Random(8)
    names = "".join(token.content for token in tokenizer.get_added_tokens_decoder().values())
    for text in [names, names + " x " + names] + [nasty_text(generator) for _ in range(60)]:
        yield {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}


def decodings(tokenizer, generator):
    size = tokenizer.get_vocab_size()
    for _ in range(40):
        ids = [generator.randrange(size) for _ in range(generator.randint(1, 12))]
        yield {"ids": ids, "text": tokenizer.decode(ids, skip_special_tokens=False)}


def main():
    out = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else HERE
    generator = random.Random(7)
    for name, tokenizer in tokenizers_to_make():
        tokenizer.save(str(out / f"{name}.tokenizer.json"), pretty=False)
        golden = {"made_with": f"tokenizers {tokenizers.__version__}", "vocabulary": tokenizer.get_vocab_size(),
                  "cases": list(cases(tokenizer, generator)), "decodings": list(decodings(tokenizer, generator)),
                  "split_special_cases": list(split_special_cases(tokenizer))}
        (out / f"{name}.cases.json").write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
