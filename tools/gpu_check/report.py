# SPDX-License-Identifier: Apache-2.0
"""Tables for docs/gpu.md from what a check found."""

from __future__ import annotations


def tables(found: dict) -> str:
    lines = [f"Device: {found['build']['gpu']}.", ""]
    lines += ["| part | result |", "|---|---|"]
    for part in ("convolutions", "smoke", "cases", "training", "sanitizer", "kernels"):
        if part in found:
            lines.append(f"| {part} | {summary(found[part])} |")
    times = {k: v for k, v in found.get("benchmarks", {}).get("times", {}).items() if isinstance(v, dict)}
    if times:
        lines += ["", "| what | Loomix, µs | PyTorch, µs | Loomix / PyTorch |", "|---|---|---|---|"]
    for name, by in times.items():
        torch = by.get("torch")
        ratio = f"{by['loomix'] / torch:.2f}" if torch else ""
        lines.append(f"| {name} | {by['loomix']:,} | {torch or ''} | {ratio} |")
    lines += orders(found.get("layouts", {}).get("times", {}))
    seen = found.get("kernels", {})
    if "busy" in seen:
        lines += [
            "",
            f"{seen['network']} ({seen['images']} images of {seen['pixels']} pixels), by the {seen['by']}: "
            f"{seen['microseconds a step']:,} µs a step, {seen['kernels a step']:g} kernels, busy {seen['busy']:.1%}.",
        ]
        lines += ["", "| kernel | µs a step | times |", "|---|---|---|"]
        lines += [f"| {k['name']} | {k['microseconds a step']:,} | {k['times']:g} |" for k in seen["longest"]]
    return "\n".join(lines)


def orders(times: dict) -> list[str]:
    """What was measured with channels first and last."""
    both = {
        k: v for k, v in times.items() if all(isinstance(v.get(o), (int, float)) for o in ("first", "last"))
    }
    if not both:
        return []
    lines = ["", "| what | channels first, µs | channels last, µs | last / first |", "|---|---|---|---|"]
    for name, by in both.items():
        lines.append(f"| {name} | {by['first']:,} | {by['last']:,} | {by['last'] / by['first']:.2f} |")
    return lines


def summary(part: dict) -> str:
    if "skipped" in part or "not run" in part:
        return part.get("skipped") or part["not run"]
    right = part.get("ok", part.get("passed"))
    return f"{part.get('wrong', 0)} wrong" + (f", {right} right" if right is not None else "")
