# SPDX-License-Identifier: Apache-2.0
"""PyTorch's rates, on one thread, for the shapes of products_bench.cpp. Needs torch; nothing else of convoy needs it."""
import time

import torch
import torch.nn.functional as functional

SECONDS = 0.5


def gflops(call, operations):
    call()
    best, start = float("inf"), time.thread_time()
    while time.thread_time() - start < SECONDS:
        before = time.thread_time()
        call()
        best = min(best, time.thread_time() - before)
    return operations / best / 1e9


def layer(m, k, n):
    x, w, dy, dweight = torch.randn(m, k), torch.randn(n, k), torch.randn(m, n), torch.zeros(n, k)
    bias, operations = torch.randn(n), 2 * m * k * n
    print(f"layer {m} {k} {n}: forward {gflops(lambda: functional.linear(x, w, bias), operations):.1f}"
          f" backward_input {gflops(lambda: dy @ w, operations):.1f}"
          f" backward_weight {gflops(lambda: (dweight.addmm_(dy.t(), x), dy.sum(0)), operations):.1f} GFLOP/s", flush=True)


def attention(b, h, t, d):
    qkv, dy = torch.randn(b, t, 3 * h * d).requires_grad_(True), torch.randn(b, t, h * d)

    def forward():
        q, k, v = [x.view(b, t, h, d).transpose(1, 2) for x in qkv.split(h * d, 2)]
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(b, t, h * d)

    y, product = forward(), b * h * t * t * d
    print(f"attention B{b} H{h} T{t} D{d}: forward {gflops(forward, 2 * product):.1f}"
          f" backward {gflops(lambda: y.backward(dy, retain_graph=True), 5 * product):.1f} GFLOP/s", flush=True)


if __name__ == "__main__":
    torch.set_num_threads(1)
    for shape in [(1024, 768, 2304), (1024, 768, 768), (1024, 768, 3072), (1024, 3072, 768), (4096, 3072, 768),
                  (256, 768, 50257), (512, 288, 288), (512, 288, 768), (512, 288, 32000)]:
        layer(*shape)
    for shape in [(4, 12, 1024, 64), (4, 12, 256, 48), (4, 6, 256, 24)]:
        attention(*shape)
