# SPDX-License-Identifier: Apache-2.0
"""Writes libcore/data/unicode_classes_table.cpp: classes of characters as the tokenizers package sees them.

Usage: make_unicode_table.py --onig-categories FILE > libcore/data/unicode_classes_table.cpp
FILE has lines "CODE CATEGORY", what the Oniguruma that we link says (match every character against every \\p{Xx}).
Needs tokenizers 0.23.
"""
import argparse

from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

CATEGORIES = "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Zl Zp Cc Cf Co Cn".split()
CODES = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
EVERYTHING = "".join(map(chr, CODES))
# Of the same category and length, and in every version of Unicode since 6.
STAND_INS = {("Lo", 4): 0x20000, ("Mn", 4): 0x10A01, ("So", 4): 0x1F300, ("Mc", 4): 0x11000, ("Nd", 4): 0x1D7CE, ("Po", 4): 0x10100,
             ("Lm", 4): 0x16F93, ("Lu", 3): 0x1E00, ("So", 3): 0x2600, ("Ll", 3): 0x1E01, ("Mn", 3): 0x20D0, ("Po", 3): 0x2020,
             ("Ll", 4): 0x10428, ("Mc", 3): 0x0903, ("Lu", 4): 0x10400, ("Pd", 4): 0x10EAD, ("Sm", 4): 0x1D6C1, ("Cf", 4): 0x1D173,
             ("No", 4): 0x10107}


def members(pattern):
    split = pre_tokenizers.Split(Regex(pattern), "removed", invert=True)
    return {ord(c) for part, _ in split.pre_tokenize_str(EVERYTHING) for c in part}


def word_characters():
    tokenizer = Tokenizer(models.BPE(vocab={"a": 0}, merges=[]))
    tokenizer.add_tokens([AddedToken("QQQ", single_word=True, normalized=False)])
    encodings = tokenizer.encode_batch([chr(c) + "QQQ" for c in CODES], add_special_tokens=False)
    return {c for c, e in zip(CODES, encodings) if 1 not in e.ids}


def numeric_characters():
    digits = pre_tokenizers.Digits(individual_digits=True)
    return {c for c in CODES if len(digits.pre_tokenize_str(chr(c) + "\x01")) == 2}


def utf8_length(code):
    return len(chr(code).encode())


def newer_ranges(path):
    known = {}
    for line in open(path):
        code, category = line.split()
        if category in CATEGORIES:
            known[int(code)] = category
    ranges = []
    for category in CATEGORIES:
        for code in sorted(c for c in members(rf"\p{{{category}}}") if known.get(c) != category):
            stand_in = STAND_INS[category, utf8_length(code)]
            assert known[stand_in] == category and utf8_length(stand_in) == utf8_length(code), (hex(code), category)
            if ranges and ranges[-1][1] == code - 1 and ranges[-1][2] == stand_in:
                ranges[-1][1] = code
            else:
                ranges.append([code, code, stand_in])
    return sorted(ranges)


def rows(items, most):
    line = "   "
    for item in items:
        if len(line) + len(item) + 1 > most:
            yield line
            line = "   "
        line += " " + item
    yield line


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--onig-categories", required=True)
    arguments = parser.parse_args()
    letters, numbers, spaces = members(r"\p{L}"), members(r"\p{N}"), members(r"\s")
    words, numerics = word_characters(), numeric_characters()
    runs, last = [], 0
    for code in range(0x110000):
        mask = (code in letters) + 2 * (code in numbers) + 4 * (code in spaces) + 8 * (code in words) + 16 * (code in numerics)
        if mask != last:
            runs.append(f"{{0x{code:x}, {mask}}},")
            last = mask
    print("// SPDX-License-Identifier: Apache-2.0")
    print("// Written by tests/golden/hf-tokenizer/make_unicode_table.py with tokenizers 0.23: do not edit.")
    print('#include "libcore/data/unicode_classes.h"\n')
    print("// clang-format off")
    print("namespace convoy::data {\nnamespace {\n")
    print("constexpr ClassRun kRuns[] = {")
    print("\n".join(rows(runs, 160)))
    print("};\n\nconstexpr StandIn kStandIns[] = {")
    print("\n".join(rows([f"{{0x{a:x}, 0x{b:x}, 0x{s:x}}}," for a, b, s in newer_ranges(arguments.onig_categories)], 160)))
    print("};\n\n}  // namespace\n")
    print("std::span<const ClassRun> class_runs() { return kRuns; }")
    print("std::span<const StandIn> stand_ins() { return kStandIns; }\n")
    print("}  // namespace convoy::data")


main()
