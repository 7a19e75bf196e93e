# SPDX-License-Identifier: Apache-2.0
"""The peer of the training bench: the same model trained by PyTorch, eager, on the CPU.

Lean modules (one fused q/k/v product, scaled_dot_product_attention, cross_entropy, fused AdamW, clipping), so that the
comparison is with PyTorch and not with a framework on top of it. Prints one JSON object: seconds of every step.
"""
import argparse
import json
import math
import time

import torch
import torch.nn.functional as F
from torch import nn

SHAPES = {
    "llama-15m": dict(kind="llama", V=32000, C=288, L=6, H=6, K=6, F=768),
    "gpt2-124m": dict(kind="gpt2", V=50257, C=768, L=12, H=12, K=12, F=3072, P=1024),
}


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight.to(x.dtype), 1e-5)


class Attention(nn.Module):
    def __init__(self, s, bias):
        super().__init__()
        self.s, self.D = s, s["C"] // s["H"]
        self.qkv = nn.Linear(s["C"], (s["H"] + 2 * s["K"]) * self.D, bias=bias)
        self.out = nn.Linear(s["H"] * self.D, s["C"], bias=bias)

    def forward(self, x, rotary):
        B, T, _ = x.shape
        H, K, D = self.s["H"], self.s["K"], self.D
        q, k, v = self.qkv(x).split([H * D, K * D, K * D], dim=-1)
        q, k, v = (a.view(B, T, -1, D).transpose(1, 2) for a in (q, k, v))
        if rotary is not None:
            cosine, sine = (a[:T].to(x.dtype) for a in rotary)
            q, k = (torch.cat([a[..., : D // 2] * cosine - a[..., D // 2 :] * sine, a[..., D // 2 :] * cosine + a[..., : D // 2] * sine], -1) for a in (q, k))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=H != K)
        return self.out(y.transpose(1, 2).reshape(B, T, H * D))


class Block(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.llama = s["kind"] == "llama"
        norm = RmsNorm if self.llama else nn.LayerNorm
        self.norm1, self.norm2, self.attention = norm(s["C"]), norm(s["C"]), Attention(s, bias=not self.llama)
        self.up = nn.Linear(s["C"], s["F"] * (2 if self.llama else 1), bias=not self.llama)
        self.down = nn.Linear(s["F"], s["C"], bias=not self.llama)

    def forward(self, x, rotary):
        x = x + self.attention(self.norm1(x), rotary)
        h = self.up(self.norm2(x))
        if self.llama:
            gate, up = h.chunk(2, dim=-1)
            h = F.silu(gate) * up
        else:
            h = F.gelu(h, approximate="tanh")
        return x + self.down(h)


class Model(nn.Module):
    def __init__(self, s, T):
        super().__init__()
        self.s = s
        self.tokens = nn.Embedding(s["V"], s["C"])
        nn.init.normal_(self.tokens.weight, std=0.02)
        self.positions = nn.Embedding(s["P"], s["C"]) if s["kind"] == "gpt2" else None
        self.blocks = nn.ModuleList(Block(s) for _ in range(s["L"]))
        self.norm = (RmsNorm if s["kind"] == "llama" else nn.LayerNorm)(s["C"])
        self.rotary = None
        if s["kind"] == "llama":
            D = s["C"] // s["H"]
            angle = torch.outer(torch.arange(T).float(), 10000.0 ** (-torch.arange(0, D, 2).float() / D))
            self.rotary = (angle.cos(), angle.sin())

    def forward(self, tokens, targets):
        x = self.tokens(tokens)
        if self.positions is not None:
            x = x + self.positions(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            x = block(x, self.rotary)
        logits = F.linear(self.norm(x), self.tokens.weight)  # tied head
        return F.cross_entropy(logits.float().view(-1, self.s["V"]), targets.reshape(-1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", choices=SHAPES, required=True)
    parser.add_argument("--precision", choices=["fp32", "bf16"], required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--sequence", type=int, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--most-seconds", type=float, default=60, help="after two steps, stop when this much time has gone")
    o = parser.parse_args()
    torch.set_num_threads(o.threads)
    torch.manual_seed(1)
    s = SHAPES[o.model]
    model = Model(s, o.sequence)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    seconds, losses = [], []
    for _ in range(o.steps):
        window = torch.randint(0, s["V"], (o.batch, o.sequence + 1))
        begin = time.perf_counter()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=o.precision == "bf16"):
            loss = model(window[:, :-1], window[:, 1:])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        seconds.append(time.perf_counter() - begin)
        losses.append(loss.item())
        if len(seconds) >= 2 and sum(seconds) > o.most_seconds:
            break
    assert all(math.isfinite(x) for x in losses)
    print(json.dumps({"seconds": seconds, "first_loss": losses[0], "torch": torch.__version__}))


if __name__ == "__main__":
    main()
