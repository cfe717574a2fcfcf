# SPDX-License-Identifier: Apache-2.0
"""The package itself: laziness, names, error types."""

import ast
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import time

import loomix as mx
import numpy as np
import pytest
from loomix import base, engine, log, recordio, registry, util


def run_python(code, **environment):
    """Standard output of a fresh interpreter that has this one's paths."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
    ).stdout


def test_import_loads_neither_extension_nor_submodules():
    code = "import loomix, sys; print([m for m in sys.modules if m.startswith('loomix.') or m == 'numpy'])"
    assert run_python(code).strip() == "[]"


def test_iterators_give_whole_arrays_before_anything_else_is_used(tmp_path):
    with recordio.MXIndexedRecordIO(tmp_path / "a.idx", tmp_path / "a.rec", "w") as record:
        image = np.zeros((8, 8, 3), "uint8")
        record.write_idx(0, recordio.pack_img(recordio.IRHeader(0, 0, 0, 0), image))
    code = f"""
import loomix as mx
batch = next(mx.io.ImageRecordIter(path_imgrec={str(tmp_path / "a.rec")!r}, data_shape=(3, 8, 8), batch_size=1))
print(type(batch.data[0]) is mx.nd.NDArray, batch.data[0].sum().asscalar())
"""
    assert run_python(code).split() == ["True", "0.0"]


def test_openmp_threads_do_not_spin_unless_asked_to():
    code = "import loomix, os; print(os.environ['OMP_WAIT_POLICY'])"
    assert run_python("import os; os.environ.pop('OMP_WAIT_POLICY', None);" + code).strip() == "passive"
    assert run_python(code, OMP_WAIT_POLICY="active").strip() == "active"


def test_every_name_that_dir_offers_exists():
    for name in dir(mx):
        assert getattr(mx, name) is not None
    for package in (mx.nd, mx.sym, mx.mod, mx.io, mx.kv, mx.metric, mx.optimizer, mx.image, mx.test_utils):
        assert [name for name in dir(package) if not hasattr(package, name)] == []


def test_stub_has_the_names_of_the_package():
    stub = ast.parse(pathlib.Path(mx.__file__).with_suffix(".pyi").read_text())
    names = {name.asname for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    names |= {node.targets[0].id for node in stub.body if isinstance(node, ast.Assign)}
    assert names == set(mx._MODULES) | set(mx._OBJECTS)


def test_modules_that_will_not_come_say_what_to_use():
    with pytest.raises(AttributeError, match="mx.tvmop is not planned: there is no TVM"):
        _ = mx.tvmop


def test_misspelt_module_gets_a_suggestion():
    program = "import loomix as mx; mx.optimiser"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "module 'loomix' has no attribute 'optimiser'. Did you mean: 'optimizer'?" in result.stderr


def test_aliases_are_the_modules():
    import loomix.initializer
    import loomix.io

    assert mx.init is loomix.initializer
    assert mx.io is loomix.io
    assert mx.kv is mx.kvstore and mx.mod is mx.module and mx.viz is mx.visualization and mx.mon is mx.monitor
    assert mx.nd is mx.ndarray and mx.sym is mx.symbol and mx.rnd is mx.random
    assert {"nd", "sym", "cpu", "MXNetError"} <= set(dir(mx))


def test_unknown_name():
    with pytest.raises(AttributeError, match="no_such_thing"):
        mx.no_such_thing  # noqa: B018


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (base.MXNetValueError, ValueError),
        (base.ShapeError, ValueError),
        (base.MXNetTypeError, TypeError),
        (base.MXNetIndexError, IndexError),
        (base.MXNetKeyError, KeyError),
        (base.MXNetFileError, OSError),
        (base.MXNetMemoryError, MemoryError),
        (base.NetworkError, ConnectionError),
        (base.MXNetNotImplementedError, NotImplementedError),
        (base.DeviceError, RuntimeError),
        (base.StateError, RuntimeError),
        (base.StateError, AssertionError),
    ],
)
def test_errors_are_both(error, builtin):
    made = error("[who] what.")
    assert isinstance(made, mx.MXNetError) and isinstance(made, builtin)
    assert str(made) == "[who] what."
    assert str(pickle.loads(pickle.dumps(made))) == "[who] what."


def test_contexts():
    assert mx.cpu() == mx.cpu(0) != mx.cpu(1)
    assert len({mx.cpu(0), mx.cpu(0), mx.gpu(0)}) == 2
    assert str(mx.gpu(2)) == "gpu(2)"
    assert mx.Context(mx.cpu(3)) == mx.Context("cpu", 3)
    assert (mx.cpu_pinned().device_type, mx.cpu_pinned().device_typeid) == ("cpu_pinned", 3)
    assert pickle.loads(pickle.dumps(mx.gpu(1))) == mx.gpu(1)
    assert mx.cpu() != "cpu(0)"
    for bad in (lambda: mx.Context("tpu"), lambda: mx.cpu(-1)):
        with pytest.raises(ValueError):
            bad()


def test_context_scopes_nest_and_belong_to_their_thread():
    one = mx.cpu(1)
    seen = []
    with one:
        with mx.cpu(2), one:
            assert mx.current_context() == mx.cpu(1)
        assert mx.current_context() == mx.cpu(1)
        thread = threading.Thread(target=lambda: seen.append(mx.current_context()))
        thread.start()
        thread.join()
    assert seen == [mx.cpu(0)]
    assert mx.current_context() == mx.cpu(0)
    with pytest.raises(ZeroDivisionError), one:
        1 / 0  # noqa: B018
    assert mx.current_context() == mx.cpu(0)


def test_names():
    manager = mx.name.NameManager()
    assert [manager.get(None, "fc"), manager.get("given", "fc"), manager.get(None, "fc")] == [
        "fc0",
        "given",
        "fc1",
    ]
    assert mx.name.Prefix("p_").get("given", "fc") == "p_given"
    with mx.name.Prefix("net_"):
        net = mx.sym.FullyConnected(mx.sym.Variable("x"), num_hidden=2)
    assert net.list_arguments() == ["x", "net_fullyconnected0_weight", "net_fullyconnected0_bias"]


def test_attribute_scopes():
    with mx.AttrScope(ctx_group="a", __mine__="1"), mx.AttrScope(ctx_group="b"):
        variable = mx.sym.Variable("x")
    assert variable.attr("ctx_group") == "b"
    assert variable.attr("__mine__") == "1"
    assert mx.sym.Variable("y").attr("ctx_group") is None
    scope = mx.AttrScope(key="1")
    for _ in range(2):
        with mx.AttrScope(other="2"), scope:
            assert scope.get(None) == {"key": "1", "other": "2"}
    assert scope.get({"key": "3"}) == {"key": "3"}
    with pytest.raises(ValueError, match="string"):
        mx.AttrScope(number=1)


def test_random_states_freeze_and_restore_every_generator():
    import json

    import numpy as np

    mx.random.seed(5)
    state = json.loads(json.dumps(mx.random.get_state()))
    first = mx.nd.random.normal(shape=4).asnumpy(), np.random.rand(3)
    mx.random.set_state(state)
    second = mx.random.normal(shape=4).asnumpy(), np.random.rand(3)
    assert all((a == b).all() for a, b in zip(first, second))
    with pytest.raises(ValueError):
        mx.random.set_state({"numpy": 1})
    with pytest.raises(TypeError):
        mx.random.seed("1")
    with pytest.raises(ValueError):
        mx.random.seed(1, ctx="everything")


def test_seeds():
    mx.random.seed(3)
    first = mx.nd.random.uniform(shape=8).asnumpy()
    other = mx.nd.random.uniform(shape=8).asnumpy()
    mx.random.seed(3)
    again = mx.nd.random.uniform(shape=8).asnumpy()
    assert (first == again).all() and (first != other).any()
    mx.random.seed(3, ctx=mx.cpu())
    once = mx.nd.random.uniform(shape=8).asnumpy()
    mx.random.seed(3, ctx=mx.cpu())
    assert (mx.nd.random.uniform(shape=8).asnumpy() == once).all()


def test_numpy_scopes():
    assert not util.is_np_shape() and not util.is_np_array()
    with mx.np_shape():
        assert util.is_np_shape()
        with mx.np_shape(False):
            assert not util.is_np_shape()
        assert util.is_np_shape()

    @mx.use_np
    class Layer:
        def flags(self):
            return util.is_np_shape(), util.is_np_array()

        @property
        def flag(self):
            return util.is_np_shape()

    assert Layer().flags() == (True, True) and Layer().flag
    assert not mx.is_np_shape()
    previous = mx.set_np_shape(True)
    assert previous is False and mx.set_np_shape(previous) is True
    util.set_np()
    try:
        assert mx.is_np_shape() and mx.is_np_array()
    finally:
        util.reset_np()
    with pytest.raises(ValueError):
        util.set_np(shape=False, array=True)
    with pytest.raises(TypeError):
        mx.use_np(3)


def test_registry():
    class Animal:
        def __init__(self, legs=4):
            self.legs = legs

    register = registry.get_register_func(Animal, "animal")
    create = registry.get_create_func(Animal, "animal")

    @registry.get_alias_func(Animal, "animal")("kitten")
    @register
    class Cat(Animal):
        pass

    assert create("CAT").legs == 4 and create("kitten", legs=3).legs == 3
    assert create('["cat", {"legs": 2}]').legs == 2
    assert create(animal="cat").legs == 4
    cat = Cat()
    assert create(cat) is cat
    for bad in ("dog", "[1", '["cat"]'):
        with pytest.raises(ValueError):
            create(bad)
    with pytest.raises(ValueError):
        create(cat, 3)
    with pytest.raises(TypeError):
        create(3)
    with pytest.raises(TypeError):
        register(int)
    with pytest.warns(UserWarning, match="replaces"):
        register(type("Cat", (Animal,), {}))


def test_bulk_scope_and_features():
    assert engine.set_bulk_size(10) == 0
    with engine.bulk(20):
        assert engine.set_bulk_size(20) == 20
    assert engine.set_bulk_size(0) == 10
    features = mx.runtime.Features()
    assert features.is_enabled("openmp") in (True, False)
    assert {feature.name for feature in mx.runtime.feature_list()} == set(features)
    with pytest.raises(KeyError):
        features.is_enabled("teleport")


def test_logger(tmp_path):
    logger = log.get_logger("loomix-test", filename=str(tmp_path / "log"), level=log.INFO)
    logger.info("hello %d", 3)
    assert log.get_logger("loomix-test") is logger and len(logger.handlers) == 1
    assert "hello 3" in (tmp_path / "log").read_text()


def test_context_without_gpu():
    if mx.context.num_gpus() == 0:
        with pytest.raises(mx.MXNetError):
            mx.context.gpu_memory_info(0)


def test_empty_cache_gives_memory_back():
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    array = mx.nd.ones((64, 1024, 1024))
    array.wait_to_read()
    full = resident()
    del array
    kept = resident()
    mx.cpu().empty_cache()
    assert kept > full - 128e6 and resident() < full - 200e6


RESIDENT = """
import os
import loomix as mx
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
"""


@pytest.mark.parametrize(
    ("kept", "least", "most"), [("0", 0, 60e6), ("150000000", 120e6, 210e6), ("-1", 400e6, 600e6)]
)
def test_host_pool_bytes_bounds_what_is_kept_and_not_what_is_used(kept, least, most):
    code = RESIDENT + (
        "mx.nd.ones(1).wait_to_read()\n"
        "before = resident()\n"
        "arrays = [mx.nd.ones((1024, 1024, 8)) for _ in range(16)]\n"  # 32 MB each
        "mx.nd.waitall()\n"
        "assert resident() - before > 500e6\n"
        "del arrays\n"
        "print(resident() - before)"
    )
    assert least <= int(run_python(code, LOOMIX_HOST_POOL_BYTES=kept)) <= most


def test_max_memory_bytes_bounds_all():
    code = (
        "import loomix as mx\n"
        "weight = mx.nd.ones((1024, 1024, 10))\n"
        "try:\n"
        "    mx.nd.ones((1024, 1024, 10)).wait_to_read()\n"
        "except MemoryError as error:\n"
        "    print(error)\n"
    )
    text = run_python(code, LOOMIX_MAX_MEMORY_BYTES="64000000")
    assert "The largest arrays: 40.0 MiB (float32 (1024, 1024, 10), output of _ones)" in text


def test_features_are_those_of_the_build():
    features = mx.runtime.Features()
    assert features.is_enabled("BLAS_OPEN")
    assert mx.context.num_gpus() == 0 or features.is_enabled("CUDA")
    with open("/proc/self/maps") as file:
        libraries = file.read()
    assert features.is_enabled("MKLDNN") == ("libdnnl" in libraries)
    assert features.is_enabled("MPI") == ("libloomix_mpi" in libraries)
    assert features.is_enabled("DIST_KVSTORE") == ("libloomix_network" in libraries)
    assert features.is_enabled("NCCL") == ("libnccl" in libraries)
    assert features.is_enabled("OPENMP") == ("libgomp" in libraries or "libomp" in libraries)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash on PATH")
@pytest.mark.source
def test_setups_in_one_folder_wait_for_each_other(tmp_path):
    """Two at once would write over each other's object files and archives."""
    folder, tools, programs = tmp_path / "tree", tmp_path / "tree/tools", tmp_path / "bin"
    for made in (tools, programs):
        made.mkdir(parents=True)
    script = pathlib.Path(__file__).parents[2] / "tools/setup.sh"
    (tools / "setup.sh").write_text(script.read_text())
    stubs = {programs / "dpkg-query": "echo install ok installed"}  # so that nothing is installed
    for name in "ab":
        (folder / name / "bin").mkdir(parents=True)
        stubs[folder / name / "bin/python"] = f"echo {name} >>steps; sleep 0.3"
    for path, command in stubs.items():
        path.write_text(f"#!/bin/sh\n{command}\n")
        path.chmod(0o755)
    runs = []
    for name in "ab":
        environment = {**os.environ, "VENV": name, "PATH": f"{programs}:{os.environ['PATH']}"}
        command = ["bash", str(tools / "setup.sh")]
        runs.append(subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True))
        while name == "a" and not (folder / "steps").exists():
            time.sleep(0.01)
    texts = [run.communicate(timeout=60)[1] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], texts
    assert (folder / "steps").read_text().split() == ["a", "a", "b", "b"]
    assert texts[0] == "" and f"building here (process {runs[0].pid}, for a, since " in texts[1]
