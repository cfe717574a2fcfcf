# SPDX-License-Identifier: Apache-2.0
import importlib.util
import pathlib

import pytest

TOOL = pathlib.Path(__file__).resolve().parents[3] / "tools" / "check_layers.py"
spec = importlib.util.spec_from_file_location("check_layers", TOOL)
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("engine/a.cc", '#include "ndarray/ndarray.h"'),
        ("memplan/a.h", '#include "engine/engine.h"'),
        ("ops/a.cc", '#include "symbol/graph.h"'),
        ("io/record/a.cc", '#include "ndarray/ndarray.h"'),
        ("io/record/a.cc", '#include "io/iterator.h"'),
        ("symbol/a.cc", '#include "tests/cpp/help.h"'),
        ("ops/nn/conv_cpu.cc", "#include <cuda_runtime.h>"),
        ("ops/nn/conv.cc", "#include <cudnn.h>"),
        ("comm/tls.cc", "#include <mpi.h>"),
        ("engine/a.cc", 'auto x = std::getenv("HOME");'),
        ("ops/a.cc", "#ifdef LOOMIX_USE_DNNL"),
        ("ops/a.cc", "#if defined(__CUDACC__)"),
        ("ops/a.cc", "x\n" * 1001),
        ("tools/a.py", "x\n" * 1001),
        ("bindings/python/loomix/ndarray/a.py", "from .. import symbol"),
        ("bindings/python/loomix/ndarray/a.py", "def f():\n    from ..gluon.nn import Dense"),
        ("bindings/python/loomix/metric/a.py", "import loomix.gluon.nn"),
        ("bindings/python/loomix/gluon/nn/a.py", "from ...contrib import amp"),
        ("bindings/python/loomix/unheard_of.py", "import os"),
    ],
)
def test_faults_are_found(path, line):
    assert check_layers.check_file(path, line + "\n")


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("engine/a.cc", '#include "base/shape.h"'),
        ("engine/a.cc", '#include "engine/engine.h"'),
        ("symbol/a.cc", '#include "memplan/plan.h"'),
        ("io/record/a.cc", '#include "io/record/reader.h"'),
        ("kvstore/a.cc", '#include "comm/channel.h"'),
        ("bindings/python/a.cc", '#include "symbol/graph.h"'),
        ("tests/cpp/ops/a_test.cc", '#include "tests/cpp/ops/help.h"'),
        ("ops/nn/conv_cudnn.cc", "#include <cudnn.h>"),
        ("ops/nn/relu_cuda.cu", "#include <cub/cub.cuh>"),
        ("engine/device/cuda/stream.cc", "#include <cuda_runtime.h>"),
        ("comm/mpi_group.cc", "#include <mpi.h>"),
        ("base/settings.cc", "extern char** environ;"),
        ("ops/nn/conv_dnnl.cc", "#if LOOMIX_DNNL_MAJOR >= 3"),
        ("ops/a.cc", "// no getenv here"),
        ("ops/a.cc", "#if defined(__x86_64__)"),
        ("ops/a.cc", "x\n" * 999),
        ("bindings/python/loomix/symbol/a.py", "from ..ndarray import NDArray"),
        ("bindings/python/loomix/gluon/contrib/data/a.py", "from ....contrib import text"),
        ("bindings/python/loomix/ndarray/a.py", "if TYPE_CHECKING:\n    from ..symbol import Symbol"),
        ("bindings/python/loomix/ndarray/ndarray.py", "from ..numpy import ndarray"),
        ("bindings/python/loomix/__init__.py", "from . import gluon"),
    ],
)
def test_what_is_allowed_passes(path, line):
    assert not check_layers.check_file(path, line + "\n")


def test_the_tree_is_clean():
    assert check_layers.main() == 0
