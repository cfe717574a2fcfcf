#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The unit tests of projects that use MXNet, run unchanged on MXNet 1.9.1 and on Loomix: as many pass?

    python tests/compat/live_clients.py FOLDER LOOMIX/bin/python MXNET/bin/python [PROJECT ...]

LOOMIX and MXNET are environments with PACKAGES and with Loomix or MXNet; `.ci/long clients` makes them. The projects
come from their public repositories; where the folder CLIENT_SOURCES (a variable of the environment) has a repository of
that name, from there. A project that cannot be had is left out, and the reason is printed. None of their code is kept
here.

Prints what passes on MXNet and fails here, but for the tests that clients_known.txt lists with their reasons; returns 1
if there is any.
"""

import argparse
import dataclasses
import os
import subprocess
import sys
import xml.etree.ElementTree as xml
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What the tests of all projects import.
PACKAGES = (
    "pytest pytest-env pytest-timeout flaky mock nose scipy pyyaml portalocker sacrebleu==1.4.14 "
    "sacremoses regex tqdm Pillow matplotlib<3.9 yacs opencv-python-headless<4.9 pandas<2.2 nltk sentencepiece cython "
    "setuptools requests autocfg packaging graphviz pytest-retry toolz pydantic typing-extensions"
).split()


@dataclasses.dataclass
class Project:
    """Where a project is, and which of its tests need neither a network nor data."""

    address: str
    tag: str
    tests: tuple[str, ...]
    package: str = "."  # the folder that has its package
    left_out: tuple[str, ...] = ()  # arguments of pytest
    unused_plugin: str = (
        "pytest-retry"  # two plugins of PACKAGES read the mark `flaky`; a project means one of them
    )
    build: bool = False  # whether it has extensions
    ends_mxnet: tuple[str, ...] = ()  # tests in which MXNet's process crashes, so that it has no results


PROJECTS = {
    "gluon-nlp": Project(
        "https://github.com/dmlc/gluon-nlp",
        "v0.10.0",
        ("tests/unittest",),
        "src",
        ("-m", "not remote_required and not gpu", "-W", "ignore"),
        build=True,
        ends_mxnet=(
            "tests/unittest/test_models.py::test_big_rnn_model_share_params",
            "tests/unittest/test_sampled_logits.py::test_is_softmax_loss",
        ),
    ),
    "sockeye": Project("https://github.com/awslabs/sockeye", "2.3.24", ("test/unit",)),
    "gluon-cv": Project("https://github.com/dmlc/gluon-cv", "v0.10.0", ("tests/unittests",)),
    "gluonts": Project(
        "https://github.com/awslabs/gluonts",
        "v0.15.1",
        ("test/mx",),
        "src",
        (
            "-W",
            "ignore",
            "--deselect=test/mx/model/deepstate/test_using_tsf_dataset.py",  # these two fetch data
            "--deselect=test/mx/trainer/test_callbacks.py::test_callbacks",
        ),
        unused_plugin="flaky",
    ),
}


def run(*command, **kwargs):
    """The output of a command, or a RuntimeError with its last line."""
    done = subprocess.run(command, capture_output=True, text=True, **kwargs)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip().rpartition("\n")[2])
    return done.stdout


def source_of(name, project, folder):
    """A folder with the project's files as they were published."""
    target = folder / name
    if (target / ".complete").exists():
        return target
    own = os.environ.get("CLIENT_SOURCES")
    own = own and next((path for path in Path(own).glob(f"*{name}*") if path.is_dir()), None)
    if own is not None:
        repository = next((path for path in (own / "repo", own / ".git", own) if path.exists()), own)
        target.mkdir(parents=True, exist_ok=True)
        for line in run("git", "-C", str(repository), "ls-tree", "-r", project.tag).splitlines():
            about, path = line.split("\t")
            blob = subprocess.run(
                ["git", "-C", str(repository), "cat-file", "blob", about.split()[2]], capture_output=True
            )
            if blob.returncode == 0:  # the largest files may be missing in a copy
                (target / path).parent.mkdir(parents=True, exist_ok=True)
                (target / path).write_bytes(blob.stdout)
    else:
        run("git", "clone", "-q", "--depth", "1", "--branch", project.tag, project.address, str(target))
    (target / ".complete").touch()
    return target


def outcomes(file):
    """Names of tests, and whether each passed."""
    found = {}
    for case in xml.parse(file).iter("testcase"):
        bad = [part.tag for part in case if part.tag in ("failure", "error", "skipped")]
        found[f"{case.get('classname')}.{case.get('name')}"] = not bad
    return found


def run_tests(python, name, project, source, folder, which):
    """The outcomes of a project's tests with one of the two frameworks."""
    file = folder / f"{name}-{which}.xml"
    plugin = ["-p", "as_mxnet"] if which == "loomix" else []
    paths = [str(source / project.package), str(HERE), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PYTHONPATH": ":".join(filter(None, paths)),
        "MXNET_SEED": "1",
        "MXNET_TEST_SEED": "1",
    }
    environment.update(
        MXNET_MODULE_SEED="1", OMP_NUM_THREADS="1", MPLBACKEND="agg", MXNET_HOME=str(folder / "home")
    )
    command = [python, "-m", "pytest", *plugin, "-q", "--timeout", "300", "-p", "no:cacheprovider"]
    command += ["-p", f"no:{project.unused_plugin}"]
    command += [f"--junitxml={file}", *project.left_out, *project.tests]
    if which == "mxnet":
        command += [f"--deselect={test}" for test in project.ends_mxnet]
    log = folder / f"{name}-{which}.log"
    with open(log, "w") as output:
        subprocess.run(command, cwd=source, env=environment, stdout=output, stderr=subprocess.STDOUT)
    if not file.exists():
        raise RuntimeError(f"no results on {which}; see {log}")
    return outcomes(file)


def known():
    """Tests that may differ, by project and name, with the reasons."""
    lines = (HERE / "clients_known.txt").read_text().splitlines()
    return {
        line.partition(":")[0].strip(): line.partition(":")[2].strip()
        for line in lines
        if line and line[0] != "#"
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("loomix")
    parser.add_argument("mxnet")
    parser.add_argument("projects", nargs="*", default=list(PROJECTS))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    reasons, bad = known(), 0
    for name in options.projects:
        project = PROJECTS[name]
        try:
            source = source_of(name, project, options.folder)
            if project.build:
                run(options.mxnet, "setup.py", "-q", "build_ext", "--inplace", cwd=source)
        except (OSError, RuntimeError) as error:
            print(f"{name} {project.tag}: skipped, it cannot be had: {error}")
            continue
        theirs = run_tests(options.mxnet, name, project, source, options.folder, "mxnet")
        ours = run_tests(options.loomix, name, project, source, options.folder, "loomix")
        worse = [test for test, passed in theirs.items() if passed and not ours.get(test, False)]
        print(
            f"{name} {project.tag}: {sum(theirs.values())} of {len(theirs)} tests pass on MXNet, {sum(ours.values())} "
            f"of {len(ours)} on Loomix"
        )
        for test in worse:
            reason = reasons.get(f"{name} {test}")
            bad += reason is None
            print(f"  {test}: {reason or 'passes on MXNet only'}")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
