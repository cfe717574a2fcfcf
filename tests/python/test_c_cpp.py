# SPDX-License-Identifier: Apache-2.0
"""The C and C++ interfaces: what they export, and programs that use them as they are installed."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import loomix as mx
import pytest

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build"
sys.path.insert(0, str(ROOT / "tools"))
import check_abi  # noqa: E402

PAGE = ROOT / "docs/cpp.md"
FASHION = Path("/usr/share/datasets/fashion-mnist")

pytestmark = pytest.mark.source
is_built = pytest.mark.skipif(
    not (BUILD / check_abi.LIBRARIES["loomix_c"][2]).exists(), reason="the target loomix_c_api is not built"
)


def test_the_interfaces_are_those_that_programs_were_compiled_for():
    assert check_abi.check(BUILD) == []


def test_changes_of_an_interface_are_found():
    header = (ROOT / "bindings/c/include/loomix/c_api.h").read_text()
    lines = check_abi.declarations(header)
    assert "int LoomixFree(void* handle)" in lines
    assert len(check_abi.functions(lines)) == header.count("\nint Loomix") + 1 <= 72
    changed = check_abi.declarations(header.replace("int64_t number;", "int32_t number;"))
    faults = check_abi.difference("header", lines, changed)
    assert [fault.split(": ")[1] for fault in faults] == ["missing", "new"]
    removed = check_abi.declarations(header.replace("int LoomixWaitAll(void);", ""))
    assert check_abi.difference("header", lines, removed) == ["header: missing: int LoomixWaitAll(void)"]


def run(*command, **options):
    result = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=250, check=False, **options
    )
    assert result.returncode == 0, f"{command}\n{result.stdout[-4000:]}\n{result.stderr[-4000:]}"
    return result.stdout


@pytest.fixture(autouse=True)
def ninja(monkeypatch):
    """Ninja is there, since it has built the libraries; CMake's own choice, make, need not be."""
    monkeypatch.setenv("CMAKE_GENERATOR", "Ninja")


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    """A folder with all that programs need."""
    folder = tmp_path_factory.mktemp("prefix")
    for component in ("predict", "c", "cpp", "config"):
        run("cmake", "--install", BUILD, "--component", component, "--prefix", folder)
    return folder


def without_library_path():
    return {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}


@is_built
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
def test_a_project_finds_the_package(prefix, tmp_path):
    # C++17 for the headers, and MXNet's names by a change of the target alone.
    (tmp_path / "CMakeLists.txt").write_text(
        """cmake_minimum_required(VERSION 3.16)
project(outside LANGUAGES C CXX)
find_package(Loomix 0.1 REQUIRED COMPONENTS predict c cpp)
add_executable(plain plain.c)
target_link_libraries(plain Loomix::c Loomix::predict)
add_executable(names names.cc)
target_link_libraries(names Loomix::mxnet_cpp)
add_executable(busy busy.cc)
target_link_libraries(busy Loomix::cpp)
"""
    )
    (tmp_path / "plain.c").write_text(
        """#include <loomix/c_api.h>
#include <loomix/predict.h>
int main(void) {
  int version = 0;
  return LoomixGetInfo(&version, 0) == 0 && version == 100 && MXPredForward(0) == -1 ? 0 : 1;
}
"""
    )
    (tmp_path / "names.cc").write_text(
        """#include "mxnet-cpp/MxNetCpp.h"
using namespace mxnet::cpp;
static_assert(__cplusplus == 201703L, "a program chooses its own standard");
int main() {
  auto net = SoftmaxOutput("softmax", FullyConnected("fc", Symbol("data"), 3));
  auto* exec = net.SimpleBind(Context::cpu(), {{"data", NDArray(Shape(2, 4), Context::cpu())}});
  exec->Forward(false);
  bool right = exec->outputs[0].GetShape()[1] == 3;
  delete exec;
  return right ? 0 : 1;
}
"""
    )
    # It ends with work in flight.
    (tmp_path / "busy.cc").write_text(
        """#include "loomix/cpp/operator.h"
using namespace loomix::cpp;
int main() {
  NDArray a(Shape(300, 300), Context::cpu());
  for (int i = 0; i < 200; ++i) a = Operator("dot")(a, a).Invoke()[0];
}
"""
    )
    build = tmp_path / "build"
    run("cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_CXX_STANDARD=17")
    run("cmake", "--build", build)
    for program in ("plain", "names", *["busy"] * 10):
        run(build / program, env=without_library_path())


@is_built
def test_a_missing_component_is_named(prefix, tmp_path):
    if shutil.which("cmake") is None:
        pytest.skip("there is no cmake")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.16)\nproject(outside LANGUAGES NONE)\n"
        "find_package(Loomix REQUIRED COMPONENTS cpp fortran)\n"
    )
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert result.returncode != 0
    assert "fortran" in result.stderr


@is_built
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pkg-config") is None, reason="there is no pkg-config")
def test_pkg_config_gives_the_flags(prefix, tmp_path):
    (tmp_path / "plain.c").write_text(
        "#include <loomix/c_api.h>\nint main(void) { return LoomixWaitAll(); }\n"
    )
    environment = {**without_library_path(), "PKG_CONFIG_PATH": str(prefix / "lib/pkgconfig")}
    flags = run("pkg-config", "--cflags", "--libs", "loomix", env=environment).split()
    assert run("pkg-config", "--modversion", "loomix-predict", env=environment).strip() == "0.1.0"
    program = tmp_path / "plain"
    run("cc", tmp_path / "plain.c", "-o", program, *flags, f"-Wl,-rpath,{prefix}/lib")
    run(program, env=environment)


@is_built
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
@pytest.mark.timeout(300)  # four programs are compiled
@pytest.mark.skipif(not FASHION.is_dir(), reason="needs Debian's dataset-fashion-mnist")
def test_the_examples_train_and_predict(prefix, tmp_path):
    build = tmp_path / "build"
    options = (f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=Debug")  # compiles in half the time
    run("cmake", "-S", ROOT / "examples/cpp", "-B", build, *options)
    run("cmake", "--build", build, "-j2")
    environment = without_library_path()
    lines = run(build / "mlp/mlp", 1, cwd=tmp_path, env=environment)
    assert float(re.search(r"in validation ([\d.]+)", lines)[1]) > 0.78
    lines = run(build / "inference/inference", "mlp", 1, cwd=tmp_path, env=environment)
    assert float(re.search(r"accuracy ([\d.]+)", lines)[1]) > 0.78
    lines = run(build / "char_rnn/char_rnn", 3, cwd=tmp_path, env=environment)
    bits = [float(number) for number in re.findall(r": ([\d.]+) bits", lines)]
    assert bits == sorted(bits, reverse=True) and bits[-1] < 3.5
    # Python reads what C++ wrote.
    symbol, arguments, _ = mx.model.load_checkpoint(str(tmp_path / "mlp"), 1)
    assert symbol.list_outputs() == ["softmax_output"]
    assert arguments["fc1_weight"].shape == (128, 784)
    assert json.loads(symbol.tojson())["nodes"]


@is_built
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("cmake") is None, reason="there is no cmake")
@pytest.mark.timeout(300)
@pytest.mark.skipif(not FASHION.is_dir(), reason="needs Debian's dataset-fashion-mnist")
def test_the_code_on_the_page_runs(prefix, tmp_path):
    blocks = dict.fromkeys(("cmake", "cpp", "c"), ())
    for kind, content in re.findall(
        r"^```(cmake|cpp|c)\n(.*?)^```\n", PAGE.read_text(), re.MULTILINE | re.DOTALL
    ):
        blocks[kind] += (content,)
    (project,), (training, prediction), (plain,) = blocks["cmake"], blocks["cpp"], blocks["c"]
    (tmp_path / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.16)\nproject(page LANGUAGES C CXX)\n{project}"
        "add_executable(predict predict.cc)\ntarget_link_libraries(predict Loomix::cpp)\n"
        "add_executable(plain plain.c)\ntarget_link_libraries(plain Loomix::c)\n"
    )
    (tmp_path / "program.cc").write_text(training)
    (tmp_path / "predict.cc").write_text(
        "#include <loomix/cpp.h>\nusing namespace loomix::cpp;\nint main() {\nstd::vector<float> pixels(784);\n"
        f"{prediction}return scores.size() == 10 ? 0 : 1;\n}}\n"
    )
    (tmp_path / "plain.c").write_text(plain)
    build, environment = tmp_path / "build", without_library_path()
    run("cmake", "-S", tmp_path, "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}")
    run("cmake", "--build", build, "-j2")
    assert float(run(build / "program", cwd=tmp_path, env=environment).split()[1]) > 0.78
    run(build / "predict", cwd=tmp_path, env=environment)
    assert run(build / "plain", env=environment) == "1 4 9\n"


# Without arguments a worker, else what the environment says: a scheduler or a server.
CLUSTER = """#include <loomix/cpp.h>
#include <iostream>
using namespace loomix::cpp;
int main(int argc, char**) {
  if (argc > 1) {
    KVStore::RunServer();
    return 0;
  }
  KVStore::SetType("dist_sync");
  KVStore::Init(3, NDArray(std::vector<float>{10, 20}));
  auto sgd = std::make_unique<SGDOptimizer>();
  sgd->SetParam("lr", 0.5);
  KVStore::SetOptimizer(std::move(sgd));
  KVStore::Barrier();
  KVStore::Push(3, NDArray(std::vector<float>{1, 2}));
  NDArray out(Shape(2), Context::cpu());
  KVStore::Pull(3, &out);
  std::cout << KVStore::GetRank() << " of " << KVStore::GetNumWorkers() << ": " << out << std::endl;
  KVStore::Close();
}
"""


@is_built
@pytest.mark.slow
@pytest.mark.xdist_group("cluster")
@pytest.mark.skipif(not mx.runtime.Features().is_enabled("DIST_KVSTORE"), reason="there is no network module")
def test_workers_and_servers_in_cpp(prefix, tmp_path):
    (tmp_path / "cluster.cc").write_text(CLUSTER)
    program = tmp_path / "cluster"
    link = [
        f"-L{prefix}/lib",
        "-lloomix_c",
        f"-Wl,-rpath,{prefix}/lib",
        f"-Wl,-rpath-link,{prefix}/lib/loomix",
    ]
    run("c++", "-std=c++17", tmp_path / "cluster.cc", f"-I{prefix}/include", *link, "-o", program)
    launched = run(sys.executable, "-m", "loomix", "launch", "-n", 2, "-s", 1, program)
    assert sorted(re.findall(r"\d of 2: .*", launched)) == ["0 of 2: [9,18]", "1 of 2: [9,18]"]

    # The same without Python: of one worker only half as much is pushed.
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    shared = {"LOOMIX_KV_SCHEDULER_PORT": str(port), "LOOMIX_KV_WORKERS": "1", "LOOMIX_KV_SERVERS": "1"}
    processes = [
        subprocess.Popen([program, "serve"], env={**without_library_path(), **shared, "LOOMIX_KV_ROLE": role})
        for role in ("scheduler", "server")
    ]
    try:
        worker = run(program, env={**without_library_path(), **shared, "LOOMIX_KV_ROLE": "worker"})
        assert worker == "0 of 1: [9.5,19]\n"
        assert [process.wait(timeout=30) for process in processes] == [0, 0]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@is_built
@pytest.mark.slow
@pytest.mark.skipif(
    not all(map(shutil.which, ("cpack", "dpkg-deb", "dpkg-shlibdeps"))),
    reason="packages of Debian's are made on Debian",
)
def test_debian_packages(tmp_path):
    run("cpack", "-G", "DEB", "-B", tmp_path, cwd=BUILD)
    packages = {path.name.split("_")[0]: path for path in tmp_path.glob("*.deb")}
    assert {"libloomix0", "libloomix-dev", "libloomix-cmake", "libloomix-predict0"} <= set(packages)
    depends = {name: run("dpkg-deb", "-f", path, "Depends") for name, path in packages.items()}
    assert "libloomix0 (= 0.1.0)" in depends["libloomix-dev"]
    for name in ("libloomix0", "libloomix-predict0"):
        assert {"libopenblas0-openmp", "libfmt9"} <= set(re.findall(r"[\w.+-]+", depends[name]))
    for path in packages.values():  # no file is in two packages
        run("dpkg-deb", "-x", path, tmp_path / "root")
    files = [
        line.split()[5] for path in packages.values() for line in run("dpkg-deb", "-c", path).splitlines()
    ]
    names = [name for name in files if not name.endswith("/")]
    assert len(names) == len(set(names))
    for library in ("libloomix_c.so.0", "libloomix_predict.so.0"):
        found = run("ldd", tmp_path / "root/usr/lib" / library, env=without_library_path())
        assert "not found" not in found
    assert f"{tmp_path}/root/usr/lib/loomix/libloomix.so" in run(
        "ldd", tmp_path / "root/usr/lib/libloomix_c.so.0"
    )


RECIPES = ROOT / "tools/recipes"


def test_recipes_name_what_there_is():
    """Targets and components of both recipes, and their version, are those of the project."""
    conan, vcpkg = (RECIPES / name for name in ("conan/conanfile.py", "vcpkg/portfile.cmake"))
    version = re.search(r"project\(loomix\s+VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
    assert json.loads((RECIPES / "vcpkg/vcpkg.json").read_text())["version"] == version
    assert f'version = "{version}"' in conan.read_text()
    for list_of in (r"_COMPONENTS = \((.*)\)", r"_TARGETS = \((.*)\)"):
        words = " ".join(re.findall(r"\w+", re.search(list_of, conan.read_text())[1]))
        assert re.search(rf"foreach\(\w+ {words}\)", vcpkg.read_text())
    targets = re.search(r"_TARGETS = \((.*)\)", conan.read_text())[1]
    if (BUILD / "build.ninja").exists():
        known = run("ninja", "-C", BUILD, "-t", "targets", "all")
        assert all(f"\n{target}: phony" in known for target in re.findall(r"\w+", targets))


@is_built
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("conan") is None, reason="there is no conan")
def test_conan_packs_what_is_built(tmp_path):
    recipe = tmp_path / "tools/recipes/conan"  # Conan writes beside the recipe and into the build folder
    shutil.copytree(RECIPES / "conan", recipe)
    (tmp_path / "LICENSE").write_text("")
    (tmp_path / "build").symlink_to(BUILD)
    environment = {**without_library_path(), "CONAN_HOME": str(tmp_path / "home")}
    run("conan", "profile", "detect", env=environment)
    run("conan", "export-pkg", recipe, "-s", "compiler.cppstd=20", env=environment)
