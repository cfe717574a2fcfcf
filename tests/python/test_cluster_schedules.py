# SPDX-License-Identifier: Apache-2.0
"""A few of the random schedules of tests/cluster/schedules.py, which .ci/long runs by the hundred."""

import os
import subprocess
import sys
from pathlib import Path

import loomix as mx
import pytest

if not mx.runtime.Features().is_enabled("DIST_KVSTORE"):
    pytest.skip("this build has no network module (OpenSSL, Protocol Buffers)", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))

import schedules
from network import alone

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return schedules.disturbances(tmp_path_factory.mktemp("disturbed"))


# Short ones, among them each mode, each policy, kills of all roles, cuts, pauses, a clock, disks and clipped gradients.
@pytest.mark.parametrize("seed", [10, 22, 26, 28, 36, 58])
def test_no_update_is_lost_doubled_or_torn(tmp_path, library, seed):
    inside, reason = alone()
    if reason:
        print(f"nobody is cut off from others: {reason}")
    good, text = schedules.run_alone(seed, inside, library, tmp_path)
    print(text)
    assert good, text


BETWEEN_SERVERS = """
import contextlib, sys
from pathlib import Path
from schedules import *
folder, library = map(Path, sys.argv[1:])
plan = Plan(0, "dist_sync", "wait", workers=2, servers=2, staleness=0, snapshots=False)
names = [name for role in ("scheduler", "server", "worker") for name in plan.names(role)]
with contextlib.closing(Network(names)) as network:
    with DisturbedCluster(folder, plan, network, library) as cluster:
        schedule = Schedule(plan, cluster)
        schedule.write_about(keys_of(plan))
        cluster.start()
        cluster.wait_for_step("worker", 0, 5)
        ways = (("server", 0), ("server", 1)), (("server", 1), ("server", 0))
        for way in ways: network.cut(*way)
        def copies():
            numbers = cluster.numbers("scheduler")
            return [value for name, value in numbers.items() if name.startswith("loomix_cluster_copies{")]
        cluster.wait_until(lambda: copies() == [1, 1], "one copy of each group")
        step = cluster.steps(0)
        cluster.wait_for_step("worker", 0, step + 30)
        for way in ways: network.heal(*way)
        cluster.wait_until_whole()
        schedule.finish()
        log = cluster.output("scheduler")
assert "do not reach each other: server 1 is taken out of the chain of group 0, which has one copy now" in log, log
assert not (found := History.read(folder).check()), found
print("good")
"""


def test_servers_that_do_not_reach_each_other_stop_nobody(tmp_path, library):
    """Longer than calls take: one of the two leaves each chain, training goes on, and it comes back."""
    inside, reason = alone()
    if reason:
        pytest.skip(reason)
    command = [
        *inside,
        "env",
        f"PYTHONPATH={os.pathsep.join(sys.path)}",
        sys.executable,
        "-c",
        BETWEEN_SERVERS,
    ]
    done = subprocess.run([*command, tmp_path, library], capture_output=True, text=True, check=False)
    assert "good\n" in done.stdout, done.stdout + done.stderr


def test_the_library_disturbs_clock_and_disk(tmp_path, library):
    (tmp_path / "disk").mkdir()
    program = """
import os, sys, time
file = os.open("disk/file", os.O_CREAT | os.O_WRONLY)
other = os.open("file", os.O_CREAT | os.O_WRONLY)
for line in sys.stdin:
    begin = time.monotonic()
    try: os.write(other, b"x"); os.write(file, b"x"); os.fsync(file); text = "written"
    except OSError as error: text = error.strerror
    print(int(time.time()), round(time.monotonic() - begin, 1), text, flush=True)
"""
    by = tmp_path / "by"
    schedules.write_disturbance(by)
    variables = {"LD_PRELOAD": library, "DISTURBED_BY": by, "DISTURBED_FOLDER": tmp_path / "disk"}
    with subprocess.Popen(
        ["env", *(f"{name}={value}" for name, value in variables.items()), sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:

        def ask():
            process.stdin.write("\n")
            process.stdin.flush()
            now, seconds, text = process.stdout.readline().split(" ", 2)
            return int(now), float(seconds), text.strip()

        now = ask()[0]
        schedules.write_disturbance(by, clock_s=-3600)
        assert -3610 < ask()[0] - now < -3500
        schedules.write_disturbance(by, write_ms=300)
        assert ask()[1:] == (0.6, "written")  # a write and its fsync
        schedules.write_disturbance(by, full=True)
        assert ask()[2] == "No space left on device"
        schedules.write_disturbance(by)
        assert ask()[2] == "written"
        process.stdin.close()


def test_a_schedule_follows_from_its_seed():
    plans = [schedules.Plan.draw(seed, with_cuts=True) for seed in range(200)]
    assert plans == [schedules.Plan.draw(seed, with_cuts=True) for seed in range(200)]
    events = [event for plan in plans for _, event in plan.events]
    kinds = {"kill", "pause", "cut", "clock", "full disk", "slow disk"}
    assert {event.what for event in events} == kinds
    assert {plan.policy for plan in plans} == {"fail", "wait", "continue"}
    assert all(plan.survives(event) for plan in plans for _, event in plan.events)
    others = [schedules.Plan.draw(seed, with_cuts=False) for seed in range(200)]
    assert {event.what for plan in others for _, event in plan.events} == kinds - {"cut"}


def test_the_program_shows_what_would_happen():
    command = [sys.executable, schedules.__file__, "--schedules", "3", "--seed", "7", "--show"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.startswith("seed ")]
    assert [line.split(":")[0] for line in lines] == ["seed 7", "seed 8", "seed 9"]
    plan = schedules.Plan.draw(8, with_cuts=not alone()[1])
    assert str(plan) in lines[1] and str(plan.events[0][1]) in lines[1]
