# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix top`` and ``trace merge``."""

import http.server
import json
import os
import socket
import subprocess
import sys
import threading

import loomix as mx
import pytest
from loomix.__main__ import main
from loomix.commands import top, trace

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


class Node:
    """Serves a text as a node's metrics; ``{n}`` in it counts the visits."""

    def __init__(self, text, port=0):
        visits = iter(range(1, 1000))

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = text.replace("{n}", str(next(visits) * 1000)).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


SCHEDULER = """# HELP loomix_cluster_member 1 while it is there.
# TYPE loomix_cluster_member gauge
loomix_cluster_member{role="worker",rank="0",host="127.0.0.1"} 1
loomix_cluster_member{role="worker",rank="1",host="127.0.0.1"} 0
loomix_cluster_member{role="server",rank="0",host="127.0.0.1"} 1
loomix_retries_total 7
"""
SERVER = """loomix_peer_sent_bytes_total{peer="worker 0",route="tcp"} {n}
loomix_peer_sent_bytes_total{peer="worker 1",route="a \\"b\\""} {n}
loomix_worker_behind{worker="0",group="0"} 3
loomix_worker_behind{worker="1",group="0"} 0
loomix_rounds 12
"""


@pytest.fixture
def cluster():
    """A scheduler and, at the port behind it, a server; no worker answers."""
    for _ in range(20):
        scheduler = Node(SCHEDULER)
        try:
            server = Node(SERVER, scheduler.port + 1)
        except OSError:
            scheduler.close()
            continue
        yield scheduler.port
        server.close()
        scheduler.close()
        return
    pytest.skip("no two ports in a row are free")


def test_top_shows_every_node(cluster, capsys):
    assert main(["top", "--once", "--every", "0.2", "--host", "127.0.0.1", "--port", str(cluster)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        ["scheduler", "0", "up"],
        ["server", "0", "up"],
        ["worker", "0", "silent"],
        ["worker", "1", "down"],
    ]
    rates = lines[2].split()
    assert (
        rates[3].endswith("kB") and float(rates[3][:-2]) > 1
    )  # two peers, 1000 bytes a visit, in 0.2 s or a bit more
    assert "12" in rates
    assert "3 straggler" in lines[3] and "straggler" not in lines[4]
    assert " 7 " in lines[1] + " "


def test_top_without_a_cluster(capsys):
    free = Node("")
    free.close()
    assert main(["top", "--once", "--every", "0.01", "--port", str(free.port)]) == 1
    assert "LOOMIX_METRICS_PORT" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["top", "--every", "0"])


def test_amounts():
    assert [top.amount(n) for n in (None, 0, 0.25, 9.5, 12.6, 1234, 5.2e6, 3e9)] == (
        ["-", "0", "0.2", "9.5", "13", "1.2k", "5.2M", "3.0G"]
    )


def test_traces_are_aligned(tmp_path):
    # Two processes of one machine, whose times of day were read a bit differently, and one of another machine.
    base = 1_700_000_000_000_000_000
    for name, steady, unix, boot in (
        ("worker0", 5_000_000, base + 5_000_000, "m"),
        ("worker1", 7_000_000, base + 7_900_000, "m"),
        ("other", 1, base + 9_000_000, "n"),
    ):
        events = [
            {"ph": "M", "pid": 7, "name": "process_name", "args": {"name": "loomix"}},
            {"ph": "M", "pid": 7, "tid": 1, "name": "thread_name", "args": {"name": "cpu"}},
            {"ph": "X", "pid": 7, "tid": 1, "ts": 10.0, "dur": 1.0, "name": name},
        ]
        info = {"origin_ns": steady, "unix_origin_ns": unix, "boot_id": boot, "host": boot}
        (tmp_path / f"{name}.json").write_text(json.dumps({"traceEvents": events, "otherData": info}))
    files = [str(tmp_path / f"{name}.json") for name in ("worker0", "worker1", "other")]
    out = tmp_path / "out.json"
    assert main(["trace", "merge", str(out), *files, "--offset", "other=0.001"]) == 0
    merged = json.loads(out.read_text())
    times = {e["name"]: e["ts"] for e in merged["traceEvents"] if e["ph"] == "X"}
    assert times == pytest.approx({"worker0": 10, "worker1": 2010, "other": 3010})
    names = {e["pid"]: e["args"]["name"] for e in merged["traceEvents"] if e["name"] == "process_name"}
    assert names == {1: "worker0", 2: "worker1", 3: "other"}
    assert main(["trace", "merge", str(out), files[0], files[0]]) == 2
    assert main(["trace", "merge", str(out), f"a={files[0]}", f"b={files[0]}"]) == 0
    assert main(["trace", "merge", str(out), files[0], "--offset", "nobody=1"]) == 1
    bad = tmp_path / "bad.json"
    bad.write_text('{"traceEvents": 3}')
    assert main(["trace", "merge", str(out), str(bad)]) == 1
    with pytest.raises(ValueError, match="no list of events"):
        trace.read_trace(bad)


PROGRAM = """
import sys, loomix as mx
mx.profiler.set_config(filename=sys.argv[1])
mx.profiler.set_state("run")
mx.nd.dot(mx.nd.ones((64, 64)), mx.nd.ones((64, 64))).wait_to_read()
mx.profiler.dump()
"""


def test_traces_of_two_processes(tmp_path):
    files = [tmp_path / "worker0.json", tmp_path / "worker1.json"]
    for file in files:  # one after the other
        subprocess.run([sys.executable, "-c", PROGRAM, str(file)], check=True, timeout=100)
    merged, unknown = trace.merge([(file.stem, file) for file in files])
    assert not unknown
    spans = {}
    for event in merged["traceEvents"]:
        if event["ph"] == "X":
            low, high = spans.get(event["pid"], (event["ts"], event["ts"]))
            spans[event["pid"]] = (min(low, event["ts"]), max(high, event["ts"] + event["dur"]))
    assert len(spans) == 2
    assert spans[1][1] < spans[2][0]


CLUSTER = """
import subprocess, sys, loomix as mx
kv = mx.kv.create("dist_sync")
value = mx.nd.ones((1000,))
kv.init("w", value)
for _ in range(5):
    kv.pushpull("w", value, out=value)
mx.nd.waitall()
kv.barrier()
if kv.rank == 0:
    print(subprocess.run([sys.executable, "-m", "loomix", "top", "--once", "--every", "0.2", "--port", sys.argv[1]],
                         stdout=subprocess.PIPE, text=True, timeout=60).stdout)
kv.barrier()
"""


def ports_in_a_row(count):
    """The first of some ports that are free now."""
    for _ in range(50):
        sockets = [socket.socket()]
        try:
            sockets[0].bind(("127.0.0.1", 0))
            first = sockets[0].getsockname()[1]
            for port in range(first + 1, first + count):
                sockets.append(socket.socket())
                sockets[-1].bind(("127.0.0.1", port))
            return first
        except OSError:
            continue
        finally:
            for one in sockets:
                one.close()
    raise AssertionError("no ports are free")


@pytest.mark.skipif(not mx.runtime.Features().is_enabled("DIST_KVSTORE"), reason="there is no network module")
def test_top_of_a_real_cluster(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(CLUSTER)
    port = ports_in_a_row(6)
    command = [
        sys.executable,
        "-m",
        "loomix",
        "launch",
        "-n",
        "2",
        "-s",
        "2",
        sys.executable,
        str(script),
        str(port),
    ]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "LOOMIX_METRICS_PORT": str(port)}
    result = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, timeout=110)
    assert result.returncode == 0
    rows = [line.partition("] ")[2].split() for line in result.stdout.splitlines()]
    states = {" ".join(row[:2]): row[2] for row in rows if len(row) > 10 and row[0] != "NODE"}
    assert states == dict.fromkeys(("scheduler 0", "server 0", "server 1", "worker 0", "worker 1"), "up")
    rounds = [row[7] for row in rows if row[:1] == ["server"]]
    assert "5" in rounds
