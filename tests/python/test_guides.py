# SPDX-License-Identifier: Apache-2.0
"""The code and the commands of README.md and of the pages in docs/ run, and print what the pages say.

The blocks of a page run in order, in one folder: those marked ``python`` in one namespace, those marked ``sh`` in a
shell. A ``text`` block right after one of Python is its output; in it ``...`` stands for anything. On the pages of
``PROGRAMS`` each Python block is a program instead, which the page's command starts. A command line that cannot run
here is in ``ELSEWHERE``, with the test or job that runs it.
"""

import contextlib
import doctest
import io
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
PROGRAMS = {
    "docs/cluster/tutorial.md": "python -m loomix launch -n 2 -s 1 python train.py",
    "docs/distributed.md": "python -m loomix launch -n 4 -s 2 python train.py",
}

# Command line -> file with the test or job that runs it, the test's or job's name, and words that stand there.
ELSEWHERE = {
    "bash tools/train_demo.sh": (".ci/long", "examples", ["tools/train_demo.sh"]),
    "bash tools/test.sh": (".ci/run", "release", ["tools/test.sh"]),
    "cmake --preset cpu && cmake --build --preset cpu": (
        ".ci/long",
        "headers",
        ["cmake --preset cpu", "cmake --build --preset cpu"],
    ),
    "ctest --preset cpu -j2": (".ci/long", "headers", ["ctest --preset cpu"]),
    'LOOMIX_CUDA_LIBRARY=build/tests/standin/libloomix_cuda.so python -m pytest tests/ops/run.py --device "gpu(0)"': (
        ".ci/run",
        "cuda",
        ["LOOMIX_CUDA_LIBRARY", "tests/standin/libloomix_cuda.so", "-m pytest", "tests/ops/run.py"],
    ),
    "python tools/memory_figure.py --svg docs/memory_plans.svg --mxnet MXNET_ENVIRONMENT/bin/python": (
        ".ci/long",
        "memory",
        ["tools/memory_figure.py --svg", '--mxnet "$mxnet"'],
    ),
    "python tests/cluster/schedules.py --schedules 20 --seed 1 --jobs 2": (
        ".ci/long",
        "history",
        ["tests/cluster/schedules.py", "--schedules", "--jobs"],
    ),
    "python tests/cluster/schedules.py --schedules 1 --seed 39 --keep build/history": (
        ".ci/long",
        "history",
        ["tests/cluster/schedules.py", "--keep build/history"],
    ),
    "python tests/cluster/history.py build/history/seed-39": (
        "tests/python/test_cluster_history.py",
        "test_the_program_reads_files",
        ["cluster/history.py"],
    ),
    "build/tests/test_kvstore --gtest_filter='Schedules/Chaos.*/19'": (
        ".ci/long",
        "history",
        ["build/tests/test_kvstore", "--gtest_filter="],
    ),
    "build/tests/test_kvstore --gtest_also_run_disabled_tests --gtest_filter='DISABLED_Schedules/LongChaos.*'": (
        ".ci/long",
        "history",
        ["build/tests/test_kvstore --gtest_also_run_disabled_tests", "--gtest_filter="],
    ),
    "for r in 0 1 2 3; do RANK=$r WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 python train.py & done; wait": (
        "tests/python/test_mpi_kvstore.py",
        "with_network",
        ["RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"],
    ),
    "python -m loomix keys cluster.keys": ("tests/python/test_launch.py", "test_keys_command", ['"keys"']),
    "python -m loomix launch --launcher ssh --hosts machines --keys cluster.keys -n 4 -s 2 python train.py": (
        "tests/python/test_launch.py",
        "test_ssh",
        ['"ssh"', '"--hosts"', '"--keys"'],
    ),
    "python -m loomix launch -n 4 -s 2 --snapshot-dir /shared/run1 --snapshot-every 100 python train.py": (
        "tests/python/test_launch.py",
        "test_all_killed_and_restored_from_snapshots",
        ['"--snapshot-dir"', '"--snapshot-every"'],
    ),
    "python -m loomix serve server --rank 0 --scheduler HOST:PORT -n 4 -s 2": (
        "tests/python/test_launch.py",
        "test_a_cluster_by_hand",
        ['"serve"', '"server", "--rank", "0"', '"--scheduler"'],
    ),
    "python -m loomix top [--host HOST] [--port 9400] [--every 2] [--once]": (
        "tests/python/test_watching.py",
        "test_top_shows_every_node",
        ['"top"', '"--host"', '"--port"', '"--every"', '"--once"'],
    ),
    "python -m loomix trace merge all.json worker0.json worker1.json ...": (
        "tests/python/test_watching.py",
        "test_traces_are_aligned",
        ['"trace", "merge"'],
    ),
}

pytestmark = pytest.mark.library


def blocks(text):
    """(line, kind, content, output or None) of each block of code or commands."""
    found, after_code = [], -1
    for match in BLOCK.finditer(text):
        kind, content = match.groups()
        if kind in ("python", "sh"):
            found.append([text[: match.start()].count("\n") + 2, kind, content, None])
            after_code = match.end()
        elif kind == "text" and found and not text[after_code : match.start()].strip():
            found[-1][3] = content
    return found


def command_lines(content):
    """The lines of an ``sh`` block, without comments."""
    lines = (re.sub(r"\s+# .*", "", line).strip() for line in content.splitlines())
    return [line for line in lines if line]


def pages():
    """Name -> text of each page that has code or commands."""
    paths = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}
    return {name: text for name, text in texts.items() if blocks(text)}


PAGES = pages()


def test_blocks():
    text = "```python\na\n```\n\n```text\nb\n```\n\nwords\n\n```sh\nc\n```\n\nwords\n\n```text\nd\n```\n"
    assert blocks(text) == [[2, "python", "a\n", "b\n"], [12, "sh", "c\n", None]]
    assert command_lines("a  # why\n\nb '#' c\n") == ["a", "b '#' c"]


def test_code_is_marked_so_that_it_runs():
    assert {"README.md", "docs/data.md", "docs/threads.md", "docs/distributed.md"} <= set(PAGES)
    paths = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    marks = {mark for path in paths for mark, _ in BLOCK.findall(path.read_text(encoding="utf-8"))}
    of_code = {mark for mark in marks if not mark.startswith("{")}  # those are Sphinx's
    # test_doctests.py runs what is marked `pycon`, test_c_cpp.py the last three, test_tune.py files like the `toml`.
    assert of_code == {"python", "sh", "text", "toml", "pycon", "c", "cpp", "cmake"}


def body_of(text, name):
    """The text of a test in Python or of a job in a script of .ci."""
    parts = re.split(r"^(?=[^\s}])", text, flags=re.MULTILINE)
    return next(part for part in parts if part.startswith((f"def {name}(", f"job_{name}() {{")))


@pytest.mark.parametrize("line", ELSEWHERE)
def test_what_runs_elsewhere(line):
    shown = {
        one
        for text in PAGES.values()
        for _, kind, content, _ in blocks(text)
        for one in command_lines(content)
    }
    assert line in shown, "no page has this line"
    path, name, words = ELSEWHERE[line]
    body = body_of((ROOT / path).read_text(encoding="utf-8"), name)
    assert all(word in body for word in words), body


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """An empty folder, and no name `mxnet` left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "mxnet"]:
        del sys.modules[name]


def photos():
    """What the page of record files says that you have: a folder of images for each class, and one image."""
    names = [
        Path("photo.jpg"),
        *(Path("photos", kind, f"{i}.jpg") for kind in ("cat", "dog") for i in range(8)),
    ]
    for i, path in enumerate(names):
        path.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.full((260, 300, 3), 10 * i, "uint8")
        path.write_bytes(mx.recordio.unpack(mx.recordio.pack_img((0, 0, 0, 0), pixels))[1])


def checkpoint():
    """A trained network's files."""
    net = mx.sym.FullyConnected(mx.sym.Flatten(mx.sym.Variable("data")), num_hidden=10)
    module = mx.mod.Module(mx.sym.SoftmaxOutput(net, name="softmax"))
    module.bind([("data", (1, 1, 28, 28))], [("softmax_label", (1,))])
    module.init_params()
    Path("model").mkdir()
    module.save_checkpoint("model/lenet", 10)


def environment():
    """The one that a set-up leaves, as the page of installation calls it."""
    Path(".venv").symlink_to(sys.prefix)
    if not Path(".venv/bin/activate").exists():
        pytest.skip("Python is not in a virtual environment")


READERS_HAVE = {"docs/data.md": photos, "docs/threads.md": checkpoint, "docs/start/install.md": environment}


def assert_printed(page, line, expected, printed):
    same = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
    assert same, f"{page}, line {line} printed:\n{printed}"


def variables():
    """Of a shell in which `python` is this interpreter, and finds this package."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return {**os.environ, "PATH": path, "PYTHONPATH": os.pathsep.join(sys.path)}


def run_commands(page, line, content):
    script = "\n".join(["set -e", *(one for one in command_lines(content) if one not in ELSEWHERE)])
    done = subprocess.run(["bash", "-c", script], env=variables(), capture_output=True, timeout=60)
    if b"is not part of this build" in done.stderr:
        pytest.skip("built without libcli11-dev, which im2rec needs")
    assert done.returncode == 0, f"{page}, line {line}: {done.stderr.decode()}"


def run_python(page, line, code, namespace):
    """Runs a block; what it printed."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile("\n" * (line - 1) + code, str(ROOT / page), "exec"), namespace)
    return printed.getvalue()


@pytest.mark.parametrize("page", sorted(PAGES.keys() - PROGRAMS.keys()))
def test_page(page, alone):
    mx.random.seed(1)
    np.random.seed(1)
    random.seed(1)
    READERS_HAVE.get(page, lambda: None)()
    namespace = {"__name__": "__main__"}
    for line, kind, content, output in blocks(PAGES[page]):
        if kind == "sh":
            run_commands(page, line, content)
            continue
        printed = run_python(page, line, content, namespace)
        if output is not None:
            assert_printed(page, line, output, printed)
    mx.nd.waitall()


@pytest.mark.parametrize("page", PROGRAMS)
def test_no_command_of_a_cluster_is_left_out(page):
    found = blocks(PAGES[page])
    lines = {one for _, kind, content, _ in found if kind == "sh" for one in command_lines(content)}
    assert lines - ELSEWHERE.keys() == {PROGRAMS[page]}


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
@pytest.mark.skipif(not mx.runtime.Features().is_enabled("DIST_KVSTORE"), reason="there is no network module")
@pytest.mark.parametrize("page", PROGRAMS)
def test_programs_of_clusters(page, alone):
    for line, kind, content, output in blocks(PAGES[page]):
        if kind == "python":
            Path("train.py").write_text(content)
            command = ["bash", "-c", PROGRAMS[page]]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=60, env=variables())
            assert done.returncode == 0
            assert_printed(page, line, output, "".join(sorted(done.stdout.splitlines(True))))
