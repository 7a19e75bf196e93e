# SPDX-License-Identifier: Apache-2.0
"""The end of scripts/demo.sh: prints the summary, draws the loss curve, and says whether the model beat what it had to
and the profiler named the rank that was made slow.

    demo_summary.py OUT unigram|bigram TOTAL_SECONDS SECONDS_AFTER_BUILD

Exit code 0 if the validation loss is below that cross-entropy of the corpus and that rank was named first, else 1.
"""
import json
import math
import sys
from pathlib import Path

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 56, 96, 40, 44


def rows(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def curve(steps, evals, bounds):
    """The training loss, the validation losses and the two cross-entropies as an SVG picture."""
    last = steps[-1]["step"]
    losses = [s["loss"] for s in steps]
    low, high = math.floor(2 * min(losses + list(bounds.values()))) / 2, math.ceil(max(losses))
    x = lambda step: LEFT + (WIDTH - LEFT - RIGHT) * step / last
    y = lambda loss: TOP + (HEIGHT - TOP - BOTTOM) * (high - loss) / (high - low)
    line = " ".join(f"{x(s['step']):.1f},{y(s['loss']):.1f}" for s in steps)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12" fill="#555">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text x="{LEFT}" y="22" font-size="14" fill="#222">Loss, nats a token: training (line) and held-out documents (dots)</text>',
    ]
    for tick in range(math.ceil(low), math.floor(high) + 1):
        out.append(f'<path d="M{LEFT} {y(tick):.1f}H{WIDTH - RIGHT}" stroke="#e4e4e4"/><text x="{LEFT - 8}" y="{y(tick) + 4:.1f}" text-anchor="end">{tick}</text>')
    for step in range(0, last + 1, max(1, round(last / 5))):
        out.append(f'<text x="{x(step):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{step}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">step</text>')
    for name, value in bounds.items():
        out.append(f'<path d="M{LEFT} {y(value):.1f}H{WIDTH - RIGHT}" stroke="#b3531b" stroke-dasharray="5 4"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 6}" y="{y(value) + 4:.1f}" fill="#b3531b">{name} {value:.2f}</text>')
    out.append(f'<polyline points="{line}" fill="none" stroke="#2f6db3" stroke-width="1.2"/>')
    out += [f'<circle cx="{x(e["step"]):.1f}" cy="{y(e["loss"]):.1f}" r="4" fill="#1b3f66"/>' for e in evals]
    return "\n".join(out + ["</svg>", ""])


def main():
    out, bar, total, after_build = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    info = json.loads((out / "info.json").read_text())
    stragglers = json.loads((out / "report.json").read_text())["stragglers"]
    runs = [out / "first", out / "run"]  # the second goes on where the first stopped
    metrics = [r for run in runs for r in rows(run / "metrics.jsonl")]
    steps = [r for r in metrics if r["kind"] == "step"]
    evals = [r for r in metrics if r["kind"] == "eval"]
    rates = sorted(r["tokens_per_second"] for run in runs for r in rows(run / "events.jsonl") if r["kind"] == "timing")
    bounds = {"unigram": info["against"]["unigram_nats"], "bigram": info["against"]["bigram_nats"]}
    (out / "loss.svg").write_text(curve(steps, evals, bounds))
    loss = evals[-1]["loss"]
    print("\n== Summary")
    print(f"  corpus               {info['documents']:,} documents, {info['tokens']:,} training tokens")
    print(f"  training loss        {steps[0]['loss']:.3f} -> {steps[-1]['loss']:.3f} nats a token in {len(steps)} steps, {rates[len(rates) // 2]:,.0f} tokens/s")
    print(f"  validation loss      {loss:.3f} nats a token (perplexity {evals[-1]['perplexity']:.1f}) on held-out documents")
    print(f"  to beat              unigram {bounds['unigram']:.3f}, bigram {bounds['bigram']:.3f} on the same documents")
    found = [f"rank {s['rank']} in {s['phase']}, {s['excess_percent']:.0f} % over its peers in {s['steps_affected']} steps" for s in stragglers]
    attempts = len(list((out / "first" / "logs").glob("*-attempt-*.log")))
    print(f"  requeues survived    {attempts - 1 if attempts else 'none: without Slurm, a stop and the same command again'}")
    print(f"  straggler found      {'; '.join(found) or 'none'} (made slow: rank 3 in backward, by 50 %)")
    print(f"  time                 {total} s, of them {after_build} s after the build")
    print(f"  run directories      {out}/first, {out}/run   (tensorboard --logdir {out})")
    print(f"  loss curve           {out}/loss.svg")
    print(f"  profile              {out}/report.html")
    print(f"  Hugging Face folder  {out}/hf")
    # The costliest comes first. Others may be slow in truth: the machine is not the demo's alone.
    named = [(s["rank"], s["phase"]) for s in stragglers[:1]] == [(3, "backward")]
    below = loss < bounds[bar]
    print(f"  the model is {'below' if below else 'NOT below'} the {bar} cross-entropy: {loss:.3f} against {bounds[bar]:.3f}")
    return 0 if below and named else 1


if __name__ == "__main__":
    sys.exit(main())
