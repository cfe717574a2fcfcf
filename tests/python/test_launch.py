# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix launch``, ``serve`` and ``keys``."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import loomix as mx
import pytest
from loomix.commands import launch
from slurm_of_one import slurm  # noqa: F401 (a fixture)

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]

TIMEOUT = 50
SUM = """
import os, sys, loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2,)))
out = mx.nd.empty((2,))
kv.pushpull("w", mx.nd.full((2,), kv.rank + 1), out=out)
print("sum", out.asnumpy()[0], os.environ.get("MARK"))
print("complaint", file=sys.stderr)
"""


def environment(**more):
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **more}


def start(*arguments, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "loomix", "launch", *arguments],
        env=environment(**more),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(*arguments, **more):
    process = start(*arguments, **more)
    out, err = process.communicate(timeout=TIMEOUT)
    return process.returncode, out, err


def programs_with(mark):
    """Processes whose environment holds a text."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/environ", "rb") as file:
                if mark.encode() in file.read():
                    found.append(int(number))
        except OSError:
            pass
    return found


def expect_none_left(mark):
    until = time.monotonic() + 10
    while programs_with(mark) and time.monotonic() < until:
        time.sleep(0.05)
    assert programs_with(mark) == []


def test_output_has_prefixes_and_the_code_is_0():
    code, out, err = run("-n", "2", "-s", "2", "--env", "MARK=7", "--", sys.executable, "-c", SUM)
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[worker 0] sum 3.0 7", "[worker 1] sum 3.0 7"]
    assert "[worker 0] complaint" in err and "[worker 1] complaint" in err


def test_lines_are_written_whole():
    """Others that write to the same pipe, under mpirun, do not come between a line and its end."""
    read, write = os.pipe2(os.O_DIRECT)  # keeps writes apart
    command = [sys.executable, "-m", "loomix", "launch", "-n", "1", "--grace", "0.1", "--", "echo", "one"]
    with subprocess.Popen(command, env=environment(PYTHONUNBUFFERED="1"), stdout=write) as process:
        os.close(write)
        assert process.wait(TIMEOUT) == 0
    assert os.read(read, 100) == b"[worker 0] one\n"
    os.close(read)


def test_one_that_fails_ends_all_with_its_code():
    mark = "launch-test-fails"
    program = "import os, sys, time, subprocess\n"
    program += "subprocess.Popen(['sleep', '1000'])\n"  # left behind
    program += "sys.exit(7) if os.environ['DMLC_WORKER_ID'] == '1' else time.sleep(1000)"
    code, _, err = run("-n", "2", "--env", f"MARK={mark}", sys.executable, "-c", program)
    assert code == 7
    assert "worker 1 failed: exit status 7" in err
    expect_none_left(mark)


def test_one_that_a_signal_ends():
    program = "import os; os.kill(os.getpid(), 9)"
    code, _, err = run("-n", "1", sys.executable, "-c", program)
    assert code == 128 + 9 and "SIGKILL" in err


def test_a_command_that_is_not_there():
    code, _, err = run("-n", "1", "no-such-program")
    assert code == 127 and "no-such-program" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_are_forwarded(number):
    mark = f"launch-test-{number.name}"
    program = (
        "import signal, sys, time\n"
        "def stop(number, frame): print('got', number, flush=True); sys.exit(3)\n"
        f"signal.signal({int(number)}, stop)\n"
        "print('ready', flush=True); time.sleep(1000)"
    )
    process = start("-n", "1", "--env", f"MARK={mark}", sys.executable, "-c", program)
    assert process.stdout.readline() == "[worker 0] ready\n"
    process.send_signal(number)
    out, _ = process.communicate(timeout=TIMEOUT)
    assert out == f"[worker 0] got {int(number)}\n"
    assert process.returncode == 128 + number
    expect_none_left(mark)


def test_ctrl_c_ends_a_cluster_without_noise_of_servers():
    mark = "launch-test-ctrl-c"
    program = (
        SUM + "print('ready', flush=True)\nwhile True: kv.pushpull('w', out, out=out); out.wait_to_read()"
    )
    process = start(
        "-n", "2", "-s", "2", "--grace", "40", "--env", f"MARK={mark}", sys.executable, "-c", program
    )
    while "ready" not in (line := process.stdout.readline()):
        assert line, process.communicate()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 128 + signal.SIGINT
    traced = {line.split("]")[0] for line in err.splitlines() if "Traceback" in line}
    assert traced <= {"[worker 0", "[worker 1"} and "is killed" not in err, err
    expect_none_left(mark)


def test_what_cannot_start_is_said_at_once(tmp_path):
    (tmp_path / "two words").write_text("one two\n")
    (tmp_path / "empty").write_text("# nobody\n")
    ssh, missing = ("--launcher", "ssh", "--hosts"), str(tmp_path / "missing")
    for options, code, text in (
        ((*ssh, missing), 2, f"--hosts file {missing} cannot be read"),
        ((*ssh, str(tmp_path / "two words")), 2, "'one two'"),
        ((*ssh, str(tmp_path / "empty")), 2, "names no host"),
        (
            ("--launcher", "slurm", "--output", f"{missing}/x"),
            2,
            f"--output file {missing}/x cannot be written",
        ),
        (("--keys", missing), 1, f"key file {missing}/ca.pem cannot be read"),
        (("--snapshot-dir", "/proc/none"), 1, "/proc/none"),
    ):
        ended, _, err = run("-n", "1", *options, "--", sys.executable, "-c", SUM)
        assert (ended, "[launch]" in err and text in err) == (code, True), (options, ended, err)


def test_a_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, _, err = run("-n", "1", "--port", port, "--", sys.executable, "-c", SUM)
    assert code == 1 and f"cannot listen at tcp://127.0.0.1:{port}" in err and "[launch] " in err, err


def test_a_program_without_a_store():
    code, out, err = run("-n", "1", "--grace", "0.5", "--", sys.executable, "-c", "print('done')")
    assert code == 0 and out == "[worker 0] done\n" and "mx.kv.create('dist_sync')" in err


def test_a_killed_launcher_leaves_nothing_behind():
    mark = "launch-test-killed"
    program = "import time; print('ready', flush=True); time.sleep(1000)"
    process = start("-n", "1", "--env", f"MARK={mark}", sys.executable, "-c", program)
    assert process.stdout.readline() == "[worker 0] ready\n"
    process.kill()
    process.communicate(timeout=TIMEOUT)
    expect_none_left(mark)


RESTARTED = """
import os, signal, sys
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.init("w", mx.nd.zeros((2,)))
out = mx.nd.empty((2,))
for step in range(kv.pushes("w") + 1, 21):
    if step == 10 and kv.rank == 1 and not os.path.exists("died"):
        open("died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    kv.push("w", mx.nd.full((2,), step))
    kv.pull("w", out)
    assert out.asnumpy()[0] == 2 * step
print("good")
"""


def test_a_worker_is_started_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run("-n", "2", "-s", "1", "--restart", sys.executable, "-c", RESTARTED)
    assert code == 0, err
    assert "worker 1 ended with -9 and is started again" in err
    assert sorted(out.splitlines()) == ["[worker 0] good", "[worker 1] good"]


FITTED = """
import os, signal, sys
import numpy as np
import loomix as mx
store = mx.kv.create("dist_sync")
random = np.random.RandomState(store.rank)
data = mx.io.NDArrayIter(random.rand(24, 3), random.rand(24), batch_size=4, label_name="out_label")
net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=1, name="fc")
module = mx.mod.Module(mx.sym.LinearRegressionOutput(net, name="out"), label_names=["out_label"])
trained = []

def after_batch(param):
    trained.append((param.epoch, param.nbatch))
    if trained[-1] == (1, 2) and store.rank == 1 and sys.argv[1] == "die" and not os.path.exists("died"):
        mx.nd.waitall()
        open("died", "w").close()
        os.kill(os.getpid(), signal.SIGKILL)

mx.random.seed(5)
for epochs in ((0, 3), (3, 4)):  # twice, as scripts do that change the data
    module.fit(data, kvstore=store, optimizer="sgd", optimizer_params={"learning_rate": 0.1}, eval_metric="mse",
               initializer=mx.init.One(), batch_end_callback=after_batch, begin_epoch=epochs[0], num_epoch=epochs[1])
weight, bias = (module.get_params()[0][name].asnumpy().ravel() for name in ("fc_weight", "fc_bias"))
print("weights", *(float(x).hex() for x in (*weight, *bias)), "steps", len(trained), "first", trained[0])
"""


def test_fit_goes_on_where_a_restarted_worker_was(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ends = {}
    for how in ("live", "die"):
        code, out, err = run("-n", "2", "-s", "2", "--restart", sys.executable, "-c", FITTED, how)
        assert code == 0, err
        ends[how] = dict(
            re.fullmatch(r"\[worker (\d)\] weights (.*)", line).groups() for line in out.splitlines()
        )
    assert "worker 1 ended with -9 and is started again" in err
    # The push of batch 2 is in or not; either way its step is made once.
    assert re.search(
        r"worker 1 was started again; it goes on with batch [23] of epoch 1, as its pushes", err
    ), err
    weights = {how: {end.split(" steps ")[0] for end in of.values()} for how, of in ends.items()}
    assert len(weights["live"]) == 1 and weights["die"] == weights["live"]
    assert ends["live"]["1"].endswith("steps 24 first (0, 0)")
    assert re.search(r"steps 1[56] first \(1, [23]\)$", ends["die"]["1"])


PERSISTENT = """
import os, time
import loomix as mx
kv = mx.kv.create("dist_sync")
kv.set_optimizer(mx.optimizer.Test())  # adds
kv.init(["a", "b"], [mx.nd.zeros((2,)), mx.nd.zeros((300, 300))])
out = [mx.nd.empty((2,)), mx.nd.empty((300, 300))]
begin = kv.pushes("a")
for step in range(begin + 1, 21):
    kv.push(["a", "b"], [mx.nd.full((2,), step), mx.nd.full((300, 300), step)])
    kv.pull(["a", "b"], out)
    mx.nd.waitall()
    if step == 13 and begin == 0:
        time.sleep(1000)
print("from", begin, [(float(array.min().asscalar()), float(array.max().asscalar())) for array in out])
"""


def test_all_killed_and_restored_from_snapshots(tmp_path):
    mark = "launch-test-snapshots"
    snapshots = tmp_path / "snapshots"
    arguments = ("-n", "2", "-s", "2", "--snapshot-dir", str(snapshots), "--snapshot-every", "5")
    arguments += ("--env", f"MARK={mark}")
    command = ("--", sys.executable, "-c", PERSISTENT)

    def newest():  # whole snapshot; a round is left out while the one before is still being written
        names = {path.name for path in snapshots.glob("*")}
        return max(
            (r for r in (5, 10) if {f"group-{g}-round-{r}-epoch-0.snapshot" for g in (0, 1)} <= names),
            default=0,
        )

    process = start(*arguments, *command)
    until = time.monotonic() + TIMEOUT
    try:
        while newest() == 0:
            assert process.poll() is None and time.monotonic() < until, list(snapshots.glob("*"))
            time.sleep(0.05)
    finally:
        process.kill()  # and with it all others
    process.communicate(timeout=TIMEOUT)
    expect_none_left(mark)
    begin = newest()
    code, out, err = run(*arguments, "--restore", *command)
    assert code == 0, err
    total = float(2 * sum(range(1, 21)))
    assert sorted(out.splitlines()) == [
        f"[worker {rank}] from {begin} {[(total, total), (total, total)]}" for rank in range(2)
    ]


def test_others_continue():
    program = "import os, sys; sys.exit(int(os.environ['DMLC_WORKER_ID']) * 5)"
    code, _, err = run("-n", "2", "--policy", "continue", "--grace", "1", sys.executable, "-c", program)
    assert code == 0 and "worker 1 failed" in err


def test_mpi():
    if shutil.which("mpirun") is None:
        pytest.skip("there is no mpirun (Debian: openmpi-bin)")
    arguments = ("--launcher", "mpi", "-n", "2", "-s", "1", "--env", "MARK=mpi")
    code, out, err = run(*arguments, "--", sys.executable, "-c", SUM)
    assert code == 0, out + err
    assert sorted(line for line in out.splitlines() if line) == [
        "[worker 0] sum 3.0 mpi",
        "[worker 1] sum 3.0 mpi",
    ]
    fails = "import os, sys, time; sys.exit(7) if os.environ['DMLC_WORKER_ID'] == '1' else time.sleep(1000)"
    code, _, _ = run(*arguments, sys.executable, "-c", fails)
    assert code == 7
    expect_none_left("MARK=mpi")


ODD = "two\nlines, 'quotes\" and $HOME"
LINES_OF_ALL = """
import pathlib
print(repr(os.environ["ODD"]))
secrets, shown = [os.environ[name].encode() for name in ("MARK", "ODD", "LOOMIX_KV_CLUSTER")], []
assert all(len(secret) > 10 for secret in secrets)
for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
    try: shown += [secret for secret in secrets if secret in path.read_bytes()]
    except OSError: pass
print("shown:", shown)
"""


def test_ssh(tmp_path):
    """By a program in the place of ssh that runs the line here. No line of it has the values of variables."""
    fake = tmp_path / "ssh"
    fake.write_text('#!/bin/sh\nshift 2\necho "$1" >>"$HOSTS_SEEN"\nexec sh -c "$2"\n')
    fake.chmod(0o755)
    (tmp_path / "hosts").write_text("localhost  # this one\n127.0.0.1\n")
    mark = "launch-test-ssh"
    more = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "HOSTS_SEEN": str(tmp_path / "seen")}
    arguments = ("--launcher", "ssh", "--hosts", str(tmp_path / "hosts"), "--host", "127.0.0.1")
    arguments += ("-n", "2", "-s", "1", "--env", "MARK", "--env", "ODD")
    more.update(MARK=mark, ODD=ODD)
    keys = str(tmp_path / "cluster.keys")
    assert subprocess.run([sys.executable, "-m", "loomix", "keys", keys], env=environment()).returncode == 0
    code, out, err = run(*arguments, "--keys", keys, "--", sys.executable, "-c", SUM + LINES_OF_ALL, **more)
    assert code == 0, err
    assert sorted(out.splitlines()) == sorted(
        line
        for rank in range(2)
        for line in (
            f"[worker {rank}] sum 3.0 {mark}",
            f"[worker {rank}] {ODD!r}",
            f"[worker {rank}] shown: []",
        )
    )
    assert sorted((tmp_path / "seen").read_text().split()) == ["127.0.0.1"] + ["localhost"] * 3
    fails = "import os, sys, time; sys.exit(7) if os.environ['DMLC_WORKER_ID'] == '1' else time.sleep(1000)"
    assert run(*arguments, sys.executable, "-c", fails, **more)[0] == 7
    expect_none_left(mark)


def test_slurm_script(tmp_path):
    path = tmp_path / "job.sh"
    options = (
        "--launcher",
        "slurm",
        "-n",
        "4",
        "-s",
        "2",
        "--nodes",
        "2",
        "--time",
        "10",
        "--output",
        str(path),
    )
    assert run(*options, "--env", "A=b c", "--", "python", "train.py", "a b")[0] == 0
    script = path.read_text()
    assert subprocess.run(["bash", "-n", str(path)]).returncode == 0
    for line in ("#SBATCH --ntasks=7", "#SBATCH --nodes=2", "#SBATCH --time=10", "export A='b c'"):
        assert line in script.splitlines()
    assert re.search(r"^exec srun .*--kill-on-bad-exit=1 .* --part .*python train.py 'a b'$", script, re.M)


def test_slurm(slurm, tmp_path):  # noqa: F811
    options = ("--launcher", "slurm", "--host", "127.0.0.1", "-n", "2", "-s", "1", "--env", "MARK=slurm")
    code, out, err = run(*options, "--", sys.executable, "-c", SUM, SLURM_CONF=slurm)
    assert code == 0, err
    assert sorted(out.splitlines()) == ["[worker 0] sum 3.0 slurm", "[worker 1] sum 3.0 slurm"]
    fails = "import os, sys, time; sys.exit(7) if os.environ['DMLC_WORKER_ID'] == '1' else time.sleep(1000)"
    assert run(*options, "--", sys.executable, "-c", fails, SLURM_CONF=slurm)[0] == 7
    expect_none_left("MARK=slurm")


def parse_yaml(text):
    """The documents of a manifest: nested lists and dicts in blocks, with values as in JSON."""
    yaml = pytest.importorskip("yaml")
    return list(yaml.safe_load_all(text))


def test_kubernetes_manifest(tmp_path):
    options = ("--launcher", "k8s", "-n", "4", "-s", "2", "--image", "me/train:1", "--keys", "my-keys")
    code, out, err = run(*options, "--name", "job", "--env", "QUOTE=\"'", "--", "python", "train.py")
    assert code == 0, err
    service, scheduler, server, worker = parse_yaml(out)
    assert service["kind"] == "Service" and service["spec"]["selector"] == {"app": "job", "role": "scheduler"}
    assert [job["spec"]["completions"] for job in (scheduler, server, worker)] == [1, 2, 4]
    pod = worker["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert container["command"] == ["python", "train.py"] and container["image"] == "me/train:1"
    assert server["spec"]["template"]["spec"]["containers"][0]["command"][-1] == "serve"
    values = {item["name"]: item.get("value") for item in container["env"]}
    assert values["DMLC_PS_ROOT_URI"] == "job-scheduler" and values["DMLC_ROLE"] == "worker"
    assert values["QUOTE"] == "\"'" and values["DMLC_NUM_WORKER"] == "4"
    assert values["LOOMIX_KV_KEYS"] == "/etc/loomix"
    own = [{"key": name, "path": name} for name in ("ca.pem", "worker.pem")]
    assert pod["volumes"][0]["secret"] == {"secretName": "my-keys", "defaultMode": 0o400, "items": own}
    assert "--image" in run("--launcher", "k8s", "-n", "1", "true")[2]


def test_kubernetes_snapshots_need_a_volume():
    options = ("--launcher", "k8s", "-n", "1", "--image", "i", "--snapshot-dir", "/snapshots", "--restore")
    code, _, err = run(*options, "true")
    assert code == 2 and "--volume" in err
    code, out, err = run(*options, "--volume", "claim", "true")
    assert code == 0, err
    _, _, server, worker = parse_yaml(out)
    pod = server["spec"]["template"]["spec"]
    assert pod["volumes"] == [{"name": "snapshots", "persistentVolumeClaim": {"claimName": "claim"}}]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "snapshots", "mountPath": "/snapshots"}]
    values = {item["name"]: item.get("value") for item in pod["containers"][0]["env"]}
    assert values["LOOMIX_KV_SNAPSHOT_DIR"] == "/snapshots" and values["LOOMIX_KV_RESTORE"] == "1"
    assert "volumes" not in worker["spec"]["template"]["spec"]


def test_arguments(capsys):
    for arguments, text in (
        (["-n", "1"], "command"),
        (["-n", "0", "true"], "--workers is 0"),
        (["-n", "1", "-s", "0", "true"], "--servers is 0"),
        (["-n", "1", "--launcher", "ssh", "true"], "--hosts"),
        (["-n", "1", "--launcher", "magic", "true"], "magic"),
        (["-n", "1", "--port", "65536", "true"], "--port is 65536"),
        (["-n", "1", "--restore", "true"], "--snapshot-dir"),
        (["-n", "1", "--snapshot-dir", "x", "--snapshot-every", "0", "true"], "--snapshot-every is 0"),
        (["-n", "1", "--volume", "x", "true"], "--volume"),
    ):
        with pytest.raises(SystemExit) as ended:
            launch.parse(arguments)
        assert ended.value.code == 2 and text in capsys.readouterr().err
    assert launch.parse(["-n", "1", "--", "a", "-n", "2"]).command == ["a", "-n", "2"]


def test_keys_command(tmp_path):
    command = [sys.executable, "-m", "loomix", "keys", str(tmp_path / "keys")]
    assert subprocess.run(command, env=environment(), capture_output=True).returncode == 0
    files = {path.name: path for path in (tmp_path / "keys").iterdir()}
    assert sorted(files) == ["ca.pem", "scheduler.pem", "server.pem", "worker.pem"]
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in files.values())
    assert os.stat(tmp_path / "keys").st_mode & 0o777 == 0o700
    assert "PRIVATE KEY" not in files["ca.pem"].read_text()  # nobody can sign more
    assert all("PRIVATE KEY" in path.read_text() for name, path in files.items() if name != "ca.pem")
    again = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert again.returncode == 2 and "exists" in again.stderr


def test_serve_needs_a_role():
    command = [sys.executable, "-m", "loomix", "serve"]
    ended = subprocess.run(command, env=environment(), capture_output=True, text=True)
    assert ended.returncode == 2 and "DMLC_ROLE" in ended.stderr
    ended = subprocess.run(
        [*command, "server", "--scheduler", "x"], env=environment(), capture_output=True, text=True
    )
    assert ended.returncode == 2 and "HOST:PORT" in ended.stderr


def test_a_cluster_by_hand():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
    size = ("--scheduler", address, "-n", "1", "-s", "1")
    serve = [sys.executable, "-m", "loomix", "serve"]
    started = [
        subprocess.Popen([*serve, "scheduler", *size], env=environment()),
        subprocess.Popen([*serve, "server", "--rank", "0", *size], env=environment()),
    ]
    host, _, port = address.partition(":")
    worker = {
        "DMLC_PS_ROOT_URI": host,
        "DMLC_PS_ROOT_PORT": port,
        "DMLC_NUM_WORKER": "1",
        "DMLC_NUM_SERVER": "1",
    }
    command = [sys.executable, "-c", SUM]
    try:
        ended = subprocess.run(
            command,
            env=environment(DMLC_ROLE="worker", **worker),
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
        )
        assert ended.returncode == 0 and ended.stdout.startswith("sum 1.0"), ended.stderr
        assert [process.wait(TIMEOUT) for process in started] == [0, 0]
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_other_commands_work_in_a_server_environment():
    command = [sys.executable, "-m", "loomix", "--help"]
    server = environment(DMLC_ROLE="server")
    ended = subprocess.run(command, env=server, capture_output=True, text=True, timeout=TIMEOUT)
    assert ended.returncode == 0 and "launch" in ended.stdout
