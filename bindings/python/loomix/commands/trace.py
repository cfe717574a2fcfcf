# SPDX-License-Identifier: Apache-2.0
"""Puts traces of several processes on one timeline, for Perfetto: ``python -m loomix trace merge out.json a.json ...``.

Traces taken on one machine since it was started share a clock and are aligned by it. Those of other machines are
aligned by the time of day; where their clocks differ, ``--offset NAME=SECONDS`` takes that much off a trace's times.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def read_trace(path: str) -> Any:
    """The events of a trace file and what else it says."""
    try:
        with open(path, encoding="utf-8") as file:
            trace = json.load(file)
    except (OSError, ValueError) as error:
        raise ValueError(f"[trace] cannot read '{path}': {error}.") from error
    if isinstance(trace, list):
        trace = {"traceEvents": trace}
    events = trace.get("traceEvents") if isinstance(trace, dict) else None
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise ValueError(f"[trace] '{path}' is no trace: it has no list of events.")
    return events, trace.get("otherData") or {}


def origins_of(infos: Any) -> Any:
    """When each trace begins, in ns on one clock; by the time of day where the machines differ."""
    known = [isinstance(info.get("unix_origin_ns"), int) for info in infos]
    if not all(known):
        return [0] * len(infos), [index for index, one in enumerate(known) if not one]
    # The first trace of a machine tells how its steady clock and the time of day belong together.
    difference: dict[Any, Any] = {}
    origins = []
    for info in infos:
        steady, unix, machine = info.get("origin_ns"), info["unix_origin_ns"], info.get("boot_id")
        if machine and isinstance(steady, int):
            origins.append(steady + difference.setdefault(machine, unix - steady))
        else:
            origins.append(unix)
    return origins, []


def merge(named_paths: Any, offsets: Any = None) -> Any:
    """One trace of several. `named_paths`: (name, path) pairs; `offsets`: seconds that a name's clock is ahead."""
    offsets = dict(offsets or {})
    traces = [read_trace(path) for _, path in named_paths]
    origins, unknown = origins_of([info for _, info in traces])
    starts = [origin - int(offsets.pop(name, 0) * 1e9) for origin, (name, _) in zip(origins, named_paths)]
    if offsets:
        raise ValueError(f"[trace] there is no trace named {', '.join(sorted(offsets))}.")
    first = min(starts)
    merged, clocks, process = [], {}, 0
    for (events, info), (name, _), start in zip(traces, named_paths, starts):
        shift = (start - first) / 1000
        clocks[name] = {"begins_us": shift, "host": info.get("host", "")}
        numbers = {}
        for event in events:
            if event.get("ph") == "M" and event.get("name") == "process_name":
                continue
            if event.get("pid") not in numbers:
                process += 1
                numbers[event.get("pid")] = process
                merged.append(
                    {"ph": "M", "pid": process, "name": "process_name", "args": {"name": name}},
                )
                merged.append(
                    {
                        "ph": "M",
                        "pid": process,
                        "name": "process_sort_index",
                        "args": {"sort_index": process},
                    },
                )
            event = dict(event, pid=numbers[event.get("pid")])
            if "ts" in event:
                event["ts"] = event["ts"] + shift
            merged.append(event)
    return {"displayTimeUnit": "ns", "traceEvents": merged, "otherData": {"traces": clocks}}, unknown


def _offset(text: str) -> Any:
    name, _, seconds = text.rpartition("=")
    try:
        return name, float(seconds)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SECONDS") from None


def main(name: str, arguments: Sequence[str]) -> int:
    """Writes the merged trace."""
    parser = argparse.ArgumentParser(prog=f"python -m loomix {name}", description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("merge", help="one timeline of several files", description=__doc__)
    command.add_argument("out")
    command.add_argument(
        "traces", nargs="+", metavar="[NAME=]FILE", help="a trace, named as its file or as told"
    )
    command.add_argument(
        "--offset",
        action="append",
        default=[],
        type=_offset,
        metavar="NAME=SECONDS",
        help="how far a clock is ahead",
    )
    options = parser.parse_args(arguments)
    named = []
    for text in options.traces:
        label, _, path = text.rpartition("=") if not Path(text).exists() else ("", "", text)
        named.append((label or Path(path).stem, path))
    if len({label for label, _ in named}) < len(named):
        print("[trace] two traces have the same name; tell them apart with NAME=FILE.", file=sys.stderr)
        return 2
    try:
        trace, unknown = merge(named, options.offset)
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump(trace, file)
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    for index in unknown:
        print(f"[trace] {named[index][1]} does not say when it began; all begin at 0 now.", file=sys.stderr)
    events = sum(event.get("ph") != "M" for event in trace["traceEvents"])
    print(f"{options.out}: {len(named)} traces, {events} events")
    return 0
