#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a module's public Python API with MXNet 1.9.1's, as listed in python_api.json.

  check_api.py --module loomix                  a table: names and methods present, missing, with another signature
  check_api.py --module loomix --only gluon.nn  what is missing there, name by name (a prefix; repeatable)
  check_api.py --module loomix --list           the same for everything

python_api.json: module -> name -> list of parameters ("x", "x=1", "*args", "**kwargs"), or {"class": {method: parameters |
"property" | "attribute"}}, or "value", "module" (a name that scripts get by `import *`), "?" (no signature), "see MODULE"
(described there). A parameter list agrees when ours has the same names and plain defaults in the same order; ours may add
parameters behind them, or before **kwargs. A default that is an object, or a path, is written <name>: any default agrees with it.
Exit status: 0 where nothing is missing or different in what was asked for, else 1.
"""
import argparse
import importlib
import inspect
import json
import os
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))


def parameters(f):
    try:
        found = inspect.signature(f).parameters.values()
    except (ValueError, TypeError):
        return None
    out = []
    for p in found:
        prefix = {p.VAR_POSITIONAL: "*", p.VAR_KEYWORD: "**"}.get(p.kind, "")
        plain = isinstance(p.default, (int, float, str, bool, type(None), tuple))
        default = "" if p.default is p.empty else "=" + (repr(p.default) if plain else "<>")
        out.append(prefix + p.name + default)
    return out


def difference(theirs, ours):
    if not isinstance(theirs, list) or ours is None or any("=<_Null" in p for p in theirs):  # operators: see operators.json
        return None
    drop = lambda ps: [p.split("=<")[0] + "=<>" if "=<" in p else p for p in ps if p != "self" and not p.startswith("*")]
    if any(p.startswith("*") and not p.startswith("**") for p in ours) and any(p.startswith("**") for p in ours):
        return None
    want, have = drop(theirs), drop(ours)
    for i, (w, h) in enumerate(zip(want, have)):  # any default for an object of theirs, no default for None
        if (w.endswith("=<>") and h.split("=")[0] == w[:-3] and "=" in h) or w == h + "=None":
            have[i] = w
    takes_any = any(p.startswith("**") for p in ours)
    if have[: len(want)] == want or (takes_any and want[: len(have)] == have):
        return None
    return "(%s), not (%s)" % (", ".join(have), ", ".join(want))


def describe(api, module, name):
    entry = api[module][name]
    return api[entry[4:]][name] if isinstance(entry, str) and entry.startswith("see ") else entry


def check(api, root, module):
    """(present, [(name, what)]) of one module."""
    try:
        ours = importlib.import_module(root + ("." + module if module else ""))
    except ImportError:
        ours = sys.modules.get(root)
        for part in module.split("."):
            ours = getattr(ours, part, None)
        if ours is None or not module:
            return 0, [("*", "no such module")] + [(n, "missing") for n in api[module]]
    present, bad = 0, []
    for name in api[module]:
        entry = describe(api, module, name)
        value = getattr(ours, name, None)
        if not hasattr(ours, name):
            bad.append((name, "missing"))
            continue
        present += 1
        if isinstance(entry, dict):
            for method, theirs in entry["class"].items():
                if not hasattr(value, method):
                    bad.append((name + "." + method, "missing"))
                elif isinstance(theirs, list):
                    other = difference(theirs, parameters(getattr(value, method)))
                    if other:
                        bad.append((name + "." + method, other))
        else:
            other = difference(entry, parameters(value))
            if other:
                bad.append((name, other))
    return present, bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", default="loomix")
    parser.add_argument("--only", action="append", help="a module of the list, or a prefix")
    parser.add_argument("--list", action="store_true", help="name what is missing or different")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    api = json.load(open(os.path.join(HERE, "python_api.json")))
    importlib.import_module(args.module)
    names = [m for m in sorted(api) if not args.only or any(m == o or m.startswith(o + ".") for o in args.only)]
    total = have = wrong = 0
    for module in names:
        present, bad = check(api, args.module, module)
        total, have, wrong = total + len(api[module]), have + present, wrong + sum(w != "missing" and n != "*" for n, w in bad)
        methods = sum(w == "missing" and "." in n for n, w in bad)
        others = sum(w not in ("missing", "no such module") for _, w in bad)
        print("%-40s %4d of %4d names%s%s" % (module or "(top)", present, len(api[module]),
              ", %d methods missing" % methods if methods else "", ", %d signatures differ" % others if others else ""))
        if (args.list or args.only) and bad:
            for name, what in bad:
                print("    %s: %s" % (name, what))
    print("%d of %d names present, %d differ" % (have, total, wrong))
    return 0 if have == total and wrong == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
