# SPDX-License-Identifier: Apache-2.0
"""C++ networks (loomix/nn.h) and Gluon's: the same files, the same results."""

import http.client
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import loomix as mx
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "build/bindings/c/api"
FASHION = Path("/usr/share/datasets/fashion-mnist")

pytestmark = [
    pytest.mark.source,
    pytest.mark.slow,
    pytest.mark.skipif(not (LIBRARY / "libloomix_c.so").exists(), reason="loomix_c_api is not built"),
]

# Reads Gluon's file and inputs, writes results, and its own file in the other form.
PROGRAM = """#include <loomix/nn.h>
using namespace loomix::nn;

// The weight after five updates by each optimizer.
void update(const char* to) {
  const std::pair<const char*, Settings> rules[] = {
      {"sgd", {{"momentum", 0.9}}}, {"nag", {{"momentum", 0.9}}}, {"adam", {}}, {"rmsprop", {}},
      {"rmsprop", {{"centered", true}}}, {"ftrl", {}}, {"signum", {{"wd_lh", 0.01}}}, {"adagrad", {}}, {"adadelta", {}},
      {"adamax", {}}, {"ftml", {}}, {"lamb", {}}, {"adamw", {}}, {"nadam", {}}, {"sgld", {}},
      {"dcasgd", {{"momentum", 0.9}}},
      {"lbsgd", {{"batch_scale", 2}, {"momentum", 0.9}, {"warmup_epochs", 1}, {"updates_per_epoch", 4}}},
      {"lbsgd", {{"warmup_strategy", "lars"}}}};
  NamedArrays results;
  for (auto [name, settings] : rules) {
    const Settings shared = {{"learning_rate", 0.1}, {"wd", 0.01}, {"clip_gradient", 0.4}};
    for (const Setting& one : shared) settings.push_back(one);
    Dense net(1, {.use_bias = false});
    net.initialize(Initializer::constant(0.5));
    net(ones({1, 3}));
    Trainer trainer(net, name, settings);
    Parameter& weight = net.parameter_at("weight");
    for (int i = 0; i < 5; ++i) {
      weight.grad().assign(Array{1, -0.5f, 0.25f * static_cast<float>(i)});
      trainer.step(2);
    }
    const bool other = settings[0].name == "centered" || settings[0].name == "warmup_strategy";
    results.push_back({other ? settings[0].name : name, weight.data()});
  }
  save_arrays(to, results);
}

int main(int count, char** argv) {
  try {
    if (count == 2) {
      update(argv[1]);
      return 0;
    }
    Sequential net(Conv2D(4, 3, {.padding = 1, .use_bias = false}), BatchNorm(), Activation("relu"), MaxPool2D(2),
                   Conv2DTranspose(3, 2, {.strides = 2}), GlobalPooling(), Flatten(), Dense(5, {.activation = "tanh"}),
                   LayerNorm(), Dense(6));
    net.load(argv[1]);
    net.hybridize();
    LSTM lstm(3, {.layers = 2, .bidirectional = true, .input_size = 6});
    lstm.load(std::string(argv[1]) + ".lstm");
    Embedding embedding(7, 6);
    embedding.load(std::string(argv[1]) + ".embedding");
    const Array x = load_arrays(argv[2])[0].second;
    const Array words = embedding(Array{1, 6, 2, 0}.reshape({2, 2}));
    save_arrays(argv[3], {{"net", net(x)}, {"lstm", lstm(words)}});
    net.save(argv[4]);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\\n", error.what());
    return 1;
  }
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    folder = tmp_path_factory.mktemp("nn")
    (folder / "program.cc").write_text(PROGRAM)
    return build(folder / "program.cc")


def build(source):
    includes = [f"-I{ROOT}/bindings/{part}/include" for part in ("c", "cpp")]
    link = [f"-L{LIBRARY}", "-lloomix_c", f"-Wl,-rpath,{LIBRARY}"]
    warnings = ["-Wall", "-Wextra", "-Werror", "-Wno-unused"]
    program = source.with_suffix("")
    command = ["g++", "-std=c++20", "-O0", *warnings, *includes, source, "-o", program, *link]
    subprocess.run(command, check=True, timeout=100)
    return program


def gluon_net():
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(4, 3, padding=1, use_bias=False),
        nn.BatchNorm(),
        nn.Activation("relu"),
        nn.MaxPool2D(2),
        nn.Conv2DTranspose(3, 2, strides=2),
        nn.GlobalAvgPool2D(),
        nn.Flatten(),
        nn.Dense(5, activation="tanh"),
        nn.LayerNorm(),
        nn.Dense(6),
    )
    return net


@pytest.mark.timeout(120)
def test_files_are_gluons_in_both_directions(program, tmp_path):
    mx.random.seed(1)
    net = gluon_net()
    net.initialize(mx.init.Xavier())
    x = mx.nd.random.uniform(shape=(2, 3, 8, 8))
    with mx.autograd.record():  # statistics that are not those of the start
        net(x)
    expected = net(x)
    lstm = mx.gluon.rnn.LSTM(3, num_layers=2, bidirectional=True, input_size=6)
    lstm.initialize(mx.init.Uniform(0.5))
    embedding = mx.gluon.nn.Embedding(7, 6)
    embedding.initialize(mx.init.Uniform(0.5))
    net.save_parameters(str(tmp_path / "net.params"))
    lstm.save_parameters(str(tmp_path / "net.params.lstm"))
    embedding.save_parameters(str(tmp_path / "net.params.embedding"))
    mx.nd.save(str(tmp_path / "x.nd"), [x])

    def run(ending):
        names = ["net.params", "x.nd", "out.params", f"back.{ending}"]
        subprocess.run([program, *names], cwd=tmp_path, check=True, timeout=60)
        out = mx.nd.load(str(tmp_path / "out.params"))
        np.testing.assert_allclose(out["net"].asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)
        words = embedding(mx.nd.array([[1, 6], [2, 0]]))
        np.testing.assert_allclose(out["lstm"].asnumpy(), lstm(words).asnumpy(), rtol=1e-5, atol=1e-6)

    run("params")
    other = gluon_net()
    other.load_parameters(str(tmp_path / "back.params"))
    np.testing.assert_array_equal(other(x).asnumpy(), expected.asnumpy())
    run("safetensors")
    if importlib.util.find_spec("safetensors") is None:
        pytest.skip("safetensors is not installed")
    command = [sys.executable, "-m", "loomix", "convert", "back.safetensors", "again.params"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    other = gluon_net()
    other.load_parameters(str(tmp_path / "again.params"))
    np.testing.assert_array_equal(other(x).asnumpy(), expected.asnumpy())


@pytest.mark.timeout(120)
def test_optimizers_are_those_of_python(program, tmp_path):
    subprocess.run([program, "weights.params"], cwd=tmp_path, check=True, timeout=60)
    found = mx.nd.load(str(tmp_path / "weights.params"))
    makers = {
        "sgd": lambda **k: mx.optimizer.SGD(momentum=0.9, **k),
        "nag": lambda **k: mx.optimizer.NAG(momentum=0.9, **k),
        "signum": lambda **k: mx.optimizer.Signum(wd_lh=0.01, **k),
        "centered": lambda **k: mx.optimizer.RMSProp(centered=True, **k),
        "dcasgd": lambda **k: mx.optimizer.DCASGD(momentum=0.9, **k),
        "lbsgd": lambda **k: mx.optimizer.LBSGD(
            batch_scale=2, momentum=0.9, warmup_epochs=1, updates_per_epoch=4, **k
        ),
        "warmup_strategy": lambda **k: mx.optimizer.LBSGD(warmup_strategy="lars", **k),
    }
    assert len(found) == 18
    for name, weight in found.items():
        expected = mx.nd.full((1, 3), 0.5)
        if name == "adamw":  # by its paper: nothing of the decay goes through the means
            m, v, w = np.zeros(3), np.zeros(3), np.full(3, 0.5)
            for i in range(5):
                g = np.clip(np.array([1, -0.5, 0.25 * i]) / 2, -0.4, 0.4)
                m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
                rate = 0.1 * np.sqrt(1 - 0.999 ** (i + 1)) / (1 - 0.9 ** (i + 1))
                w -= rate * m / (np.sqrt(v) + 1e-8) + 0.1 * 0.01 * w
            # float32 beside float64, after steps of 0.1
            np.testing.assert_allclose(weight.asnumpy()[0], w, rtol=1e-5, atol=1e-5)
            continue
        if name == "sgld":  # five steps of noise with deviation sqrt(0.1)
            assert 0 < np.abs(weight.asnumpy() - 0.5).max() < 5
            continue
        make = makers.get(name, lambda name=name, **k: mx.optimizer.create(name, **k))
        optimizer = make(learning_rate=0.1, wd=0.01, clip_gradient=0.4, rescale_grad=0.5)
        update = mx.optimizer.get_updater(optimizer)
        for i in range(5):
            update(0, mx.nd.array([[1, -0.5, 0.25 * i]]), expected)
        np.testing.assert_allclose(weight.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6, err_msg=name)


ALGEBRA = """#include <loomix/nn.h>
#include <loomix/nn/linalg.h>
using namespace loomix::nn;

int main() {
  const NamedArrays given = load_arrays("in.params");
  const auto find = [&](const char* name) {
    for (const auto& [known, array] : given) {
      if (known == name) return array;
    }
    throw Error(name);
  };
  const Array a = find("a"), square = find("square"), b = find("b");
  const auto [values, vectors] = linalg::eigh(square);
  save_arrays("out.params", {{"svd", linalg::svd(a).s}, {"eigh", values}, {"cholesky", linalg::cholesky(square)},
                             {"solve", linalg::solve(square, b(all, Slice(0, 3)))}, {"lstsq", linalg::lstsq(a, b)},
                             {"pinv", linalg::pinv(a)}, {"norm", linalg::norm(a, 2, {1, 2})},
                             {"qr", op::abs(linalg::qr(a).r)}, {"inverse", linalg::inverse(square)}});
}
"""


def test_linear_algebra_of_stacks_is_that_of_python(tmp_path):
    source = tmp_path / "algebra.cc"
    source.write_text(ALGEBRA)
    draw = np.random.default_rng(5)
    a, b = draw.normal(size=(4, 5, 3)), draw.normal(size=(4, 5, 2))
    square = a.swapaxes(1, 2) @ a
    arrays = {"a": a, "square": square, "b": b}
    mx.nd.save(
        str(tmp_path / "in.params"), {name: mx.nd.array(x, dtype="float64") for name, x in arrays.items()}
    )
    subprocess.run([build(source)], cwd=tmp_path, check=True, timeout=60)
    found = {name: x.asnumpy() for name, x in mx.nd.load(str(tmp_path / "out.params")).items()}
    algebra, whole, left = mx.np.linalg, *(mx.np.array(x, dtype="float64") for x in (a, square))
    expected = {
        "svd": algebra.svd(whole.swapaxes(1, 2))[1],
        "eigh": algebra.eigvalsh(left),
        "cholesky": algebra.cholesky(left),
        "solve": algebra.solve(left, mx.np.array(b[:, :3], dtype="float64")),
        "lstsq": mx.np.stack(
            [algebra.lstsq(x, mx.np.array(y, dtype="float64"))[0] for x, y in zip(whole, b)]
        ),
        "pinv": algebra.pinv(whole),
        "norm": algebra.norm(whole, axis=(1, 2)),
        "qr": mx.np.abs(mx.np.stack([algebra.qr(x)[1] for x in whole])),
        "inverse": algebra.inv(left),
    }
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value.asnumpy(), rtol=1e-7, atol=1e-9, err_msg=name)


@pytest.mark.timeout(120)
@pytest.mark.skipif(not FASHION.is_dir(), reason="needs Debian's dataset-fashion-mnist")
def test_the_code_on_the_page_runs(tmp_path):
    text = (ROOT / "docs/cpp_nn.md").read_text()
    first, *rest = re.findall(r"^```cpp\n(.*?)^```\n", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "first.cc").write_text(first)
    found = subprocess.run(
        [build(tmp_path / "first.cc")], cwd=tmp_path, check=True, capture_output=True, timeout=60
    )
    assert float(found.stdout.split()[-1]) > 0.78
    assert (tmp_path / "first.params").exists()
    head = "#include <iostream>\n#include <loomix/nn.h>\n#include <loomix/nn/linalg.h>\nusing namespace loomix::nn;\n"
    parts = "".join(f"void part{i}() {{\n{part}}}\n" for i, part in enumerate(rest))
    calls = "".join(f"part{i}();" for i in range(len(rest)))
    (tmp_path / "rest.cc").write_text(f"{head}{parts}int main() {{ {calls} }}\n")
    found = subprocess.run([build(tmp_path / "rest.cc")], check=True, capture_output=True, timeout=60)
    assert b"[2, 4, 6]" in found.stdout


def test_the_reference_is_what_the_headers_say():
    subprocess.run([sys.executable, ROOT / "tools/cpp_reference.py", "--check"], check=True, timeout=60)


@pytest.mark.skipif(not FASHION.is_dir(), reason="needs Debian's dataset-fashion-mnist")
@pytest.mark.xdist_group("cluster")
@pytest.mark.timeout(200)
def test_processes_train_together(tmp_path):
    source = tmp_path / "distributed.cc"
    source.write_text((ROOT / "examples/cpp/nn/distributed.cc").read_text())
    program = build(source)
    keep = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH")  # none of this process's MPI
    environment = {name: os.environ[name] for name in keep if name in os.environ} | {"OMP_NUM_THREADS": "1"}
    commands = {"dist_sync": [sys.executable, "-m", "loomix", "launch", "-n", "2", "-s", "1"]}
    if mpi_is_there():
        commands["dist_mpi"] = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", "2"]
    for store, command in commands.items():
        done = subprocess.run(
            [*command, program, store], env=environment, capture_output=True, text=True, timeout=90
        )
        assert done.returncode == 0, done.stdout + done.stderr
        found = dict(re.findall(r"rank (\d) of 2: accuracy ([\d.]+)", done.stdout))
        assert set(found) == {"0", "1"} and len(set(found.values())) == 1  # the same network
        assert float(found["0"]) > 0.75


def test_a_server_answers_many_at_once(tmp_path):
    """As the same network does in Python, several requests in a batch; and bad requests are refused."""
    nn = mx.gluon.nn
    net = nn.HybridSequential()
    for filters in (20, 50):
        net.add(nn.Conv2D(filters, 5, activation="tanh"), nn.MaxPool2D(2))
    net.add(nn.Flatten(), nn.Dense(500, activation="tanh"), nn.Dense(10))
    net.initialize(mx.init.Xavier())
    images = np.random.RandomState(0).randint(0, 256, (48, 784), dtype="uint8")
    scores = net(mx.nd.array(images.reshape(-1, 1, 28, 28) / 255.0)).asnumpy()
    net.save_parameters(str(tmp_path / "net.params"))
    source = tmp_path / "server.cc"
    for name in ("server.cc", "batcher.h"):
        shutil.copy(ROOT / "examples/cpp/server" / name, tmp_path)
    spec = importlib.util.spec_from_file_location("client", ROOT / "examples/cpp/server/client.py")
    client = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(client)
    server = subprocess.Popen(
        [build(source), tmp_path / "net.params", "0"], stdout=subprocess.PIPE, text=True
    )
    try:
        port = int(server.stdout.readline().rpartition(":")[2])
        with ThreadPoolExecutor(8) as pool:
            answers = list(
                pool.map(lambda i: client.ask(port, [image.tobytes() for image in images[i::8]]), range(8))
            )
        for i, classes in enumerate(answers):
            assert classes == scores[i::8].argmax(axis=1).tolist()
        with pytest.raises(RuntimeError, match="400: 3 bytes came; expected 784"):
            client.ask(port, [b"abc"])
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", "/counts")
        counts = json.loads(connection.getresponse().read())
        assert counts["requests"] == 48 and counts["batches"] < 48
        connection.request("GET", "/else")
        assert connection.getresponse().status == 404
    finally:
        server.terminate()
        server.wait()


def mpi_is_there():
    try:
        mx.kv.create("dist_mpi")
    except ConnectionError:
        return False
    return shutil.which("mpirun") is not None
