# SPDX-License-Identifier: Apache-2.0
"""The code of the documentation's guides runs, and prints what the pages say.

Blocks of a page marked ``python`` run in order in one namespace. A ``text`` block right after one is its output; in
it ``...`` stands for anything. In the tutorial of clusters each block is a program.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [Path("index.md"), Path("sparse.md")] + sorted(
    path.relative_to(DOCS) for folder in ("start", "guides") for path in (DOCS / folder).glob("*.md")
)
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.library


def blocks(text):
    """(line, code, output or None) of each Python block."""
    found, after_code = [], -1
    for match in BLOCK.finditer(text):
        kind, content = match.groups()
        if kind == "python":
            found.append([text[: match.start()].count("\n") + 2, content, None])
            after_code = match.end()
        elif kind == "text" and found and not text[after_code : match.start()].strip():
            found[-1][2] = content
    return found


def test_blocks():
    text = "```python\na\n```\n\n```text\nb\n```\n\nwords\n\n```sh\nc\n```\n\n```text\nd\n```\n"
    assert blocks(text) == [[2, "a\n", "b\n"]]


@pytest.fixture
def alone(tmp_path, monkeypatch):
    """An empty folder, and no name `mxnet` left behind."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "mxnet"]:
        del sys.modules[name]


def assert_printed(page, line, expected, printed):
    same = doctest.OutputChecker().check_output(expected, printed, doctest.ELLIPSIS)
    assert same, f"{page}, line {line} printed:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_page(page, alone):
    mx.random.seed(1)
    np.random.seed(1)
    namespace = {"__name__": "__main__"}
    for line, code, output in blocks((DOCS / page).read_text()):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * (line - 1) + code, str(DOCS / page), "exec"), namespace)
        if output is not None:
            assert_printed(page, line, output, printed.getvalue())
    mx.nd.waitall()


@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
def test_programs_of_the_cluster_tutorial(alone):
    launch = [sys.executable, "-m", "loomix", "launch", "-n", "2", "-s", "1", sys.executable, "train.py"]
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    for line, code, output in blocks((DOCS / "cluster" / "tutorial.md").read_text()):
        Path("train.py").write_text(code)
        done = subprocess.run(launch, stdout=subprocess.PIPE, text=True, timeout=60, env=environment)
        assert done.returncode == 0
        assert_printed("cluster/tutorial.md", line, output, "".join(sorted(done.stdout.splitlines(True))))
