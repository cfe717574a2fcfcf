#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What star imports give, what modules and classes hold, and what calls of public names return: here and in MXNet 1.9.1.

    check_names.py                          compares with star_names.json
    check_names.py --mxnet ENV/bin/python   asks an MXNet that is installed; --write keeps its answer in star_names.json
    check_names.py --only gluon.block       these modules (a prefix; repeatable)

What is left out on purpose is in names_left_out.txt, a kind a paragraph, whose heading stands in docs/differences.md.
The exit status is 0 where nothing else differs.
"""

import argparse
import importlib
import inspect
import json
import os
import pkgutil
import subprocess
import sys
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = os.path.join(HERE, "star_names.json")
# Interfaces of NumPy's kind and quantization are compared by tests of their own.
APART = (".numpy", "._numpy", ".multiarray", ".quantization", ".gen_", ".libmxnet", ".onnx.setup", ".__main__")
EVERY_CLASS = set(dir(object)) | {"__module__", "__dict__", "__weakref__", "__annotations__", "__slots__", "__abstractmethods__",
                                  "_abc_impl", "__orig_bases__", "__parameters__", "__class_getitem__", "__static_attributes__",
                                  "__firstlineno__", "__type_params__", "__annotate__"}  # fmt: skip


def modules_of(root):
    package = importlib.import_module(root)
    found = [root]
    for item in pkgutil.walk_packages(package.__path__, root + ".", onerror=lambda name: None):
        if not any(part in item.name + "." for part in APART):
            found.append(item.name)
    return found


def star_import(name):
    space = {}
    exec(f"from {name} import *", space)
    space.pop("__builtins__")
    return space


def describe(root):
    """Modules, their star imports and other names, and classes with their members, all sorted."""
    warnings.simplefilter("ignore")
    modules, classes = {}, {}
    for name in modules_of(root):
        try:
            space = star_import(name)
        except BaseException:  # needs a package that is not there, or ends the process
            continue
        module = sys.modules[name]
        others = {key for key in dir(module) if not (key.startswith("__") and key.endswith("__"))} - set(space)
        modules[name[len(root) + 1 :]] = {"star": sorted(space), "others": sorted(others)}
        for key in [*space, *others]:
            value = getattr(module, key, None)
            if inspect.isclass(value) and value.__module__.startswith(root) and value.__module__ == name:
                classes[f"{name[len(root) + 1 :]}:{key}"] = sorted(set(dir(value)) - EVERY_CLASS)
    return {"modules": modules, "classes": classes}


def find(root, path):
    """A module by its path, also where it is an attribute only."""
    name = f"{root}.{path}" if path else root
    try:
        return importlib.import_module(name)
    except ImportError:
        found = importlib.import_module(root)
        for part in path.split("."):
            found = getattr(found, part, None)
        return found


def differences(theirs, only):
    """(module or module:Class, what kind, name) of all that is missing here."""
    found = []
    for path, names in theirs["modules"].items():
        if only and not any((path + ".").startswith(prefix + ".") for prefix in only):
            continue
        module = find("loomix", path)
        if module is None:
            found.append((path, "module", ""))
            continue
        try:
            given = star_import(module.__name__)
        except ImportError:
            given = {key: None for key in dir(module) if not key.startswith("_")}
        found += [(path, "star", name) for name in names["star"] if name not in given]
        found += [(path, "name", name) for name in names["others"] if not hasattr(module, name)]
    for path, members in theirs["classes"].items():
        module, name = path.split(":")
        if only and not any((module + ".").startswith(prefix + ".") for prefix in only):
            continue
        ours = getattr(find("loomix", module), name, None)
        if ours is not None:  # else it is missing above
            found += [(path, "member", member) for member in members if not hasattr(ours, member)]
    return found


def left_out():
    """(module or module:Class, name) of all in names_left_out.txt; each heading must stand in docs/differences.md."""
    docs = open(os.path.join(HERE, "..", "..", "docs", "differences.md"), encoding="utf-8").read()
    docs = " ".join(docs.split())
    found = []
    for line in open(os.path.join(HERE, "names_left_out.txt"), encoding="utf-8"):
        line = line.strip()
        if line.startswith("# "):
            if line[2:] not in docs:
                raise SystemExit(f"names_left_out.txt: docs/differences.md does not say {line[2:]!r}")
        elif line:
            place, _, names = line.partition(" ")
            place = place.replace("(top)", "")
            found += [(place, name) for name in names.split()]
    return found


def unexplained(found):
    known = set(left_out())
    return [item for item in found if (item[0], item[2] or "-") not in known]


def theirs_of(python):
    command = [python, "-W", "ignore", os.path.abspath(__file__), "--describe", "mxnet"]
    text = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return json.loads(text.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mxnet", help="an interpreter that has MXNet 1.9.1")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--only", action="append")
    parser.add_argument("--describe", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.describe:
        print("\n" + json.dumps(describe(args.describe)))
        return 0
    theirs = theirs_of(args.mxnet) if args.mxnet else json.load(open(KEPT, encoding="utf-8"))
    if args.write:
        with open(KEPT, "w", encoding="utf-8") as file:
            json.dump(theirs, file, separators=(",", ":"), sort_keys=True)
            file.write("\n")
    found = unexplained(differences(theirs, args.only))
    for place in dict.fromkeys(item[:2] for item in found):
        print(f"{place[0] or '(top)'} ({place[1]}):", *(item[2] for item in found if item[:2] == place))
    print(f"{len(found)} names of MXNet are missing without a reason")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
