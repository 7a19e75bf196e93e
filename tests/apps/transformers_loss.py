#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The mean next-token loss that transformers finds for a Hugging Face folder over the windows of a token stream.

    transformers_loss.py HF_DIR PREFIX SEQUENCE_LENGTH

Prints one number; exit code 77 where torch or transformers is missing. Windows hold SEQUENCE_LENGTH + 1 tokens, one starts
at the last token of the one before, as convoy-train evaluates.
"""
import struct
import sys

try:
    import torch
    import transformers
except ImportError as missing:
    print(missing, file=sys.stderr)
    sys.exit(77)


def stream(prefix):
    with open(f"{prefix}.idx", "rb") as f:
        header = f.read(18)
    code = struct.unpack_from("<B", header, 17)[0]
    dtype = {4: torch.int32, 8: torch.uint16}[code]
    return torch.frombuffer(bytearray(open(f"{prefix}.bin", "rb").read()), dtype=dtype).to(torch.int64)


def main():
    folder, prefix, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
    tokens = stream(prefix)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    windows = [tokens[i * length : (i + 1) * length + 1] for i in range((len(tokens) - 1) // length)]
    with torch.no_grad():
        batch = torch.stack(windows)
        logits = model(batch[:, :-1]).logits.double()
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
    print(repr(loss.item()))


if __name__ == "__main__":
    main()
