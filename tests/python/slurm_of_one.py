# SPDX-License-Identifier: Apache-2.0
"""A Slurm of one machine, for tests."""

import getpass
import os
import shutil
import socket
import subprocess
import time

import pytest
from loomix.commands import launch

SLURM = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SwitchType=switch/none
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=1 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""
# Nothing above needs control groups, and containers often have none: looked for by Slurm, they keep it from starting.
CGROUPS = """
CgroupPlugin=cgroup/v1
CgroupAutomount=no
CgroupMountpoint={folder}/cgroup
"""


@pytest.fixture
def slurm(tmp_path):
    """A Slurm of one machine without authentication; its configuration file."""
    programs = {
        name: shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin") for name in ("slurmctld", "slurmd")
    }
    if not all(programs.values()) or not shutil.which("srun"):
        pytest.skip("there is no Slurm (Debian: slurm-wlm)")
    for folder in ("state", "spool"):
        (tmp_path / folder).mkdir()
    path = tmp_path / "slurm.conf"
    text = SLURM.format(
        host=socket.gethostname().split(".")[0],
        port=launch.free_port(),
        node_port=launch.free_port(),
        user=getpass.getuser(),
        folder=tmp_path,
    )
    path.write_text(text)
    (tmp_path / "cgroup.conf").write_text(CGROUPS.format(folder=tmp_path))
    running = []
    try:
        for name, program in programs.items():
            with open(tmp_path / name, "w") as log:
                running.append(subprocess.Popen([program, "-D", "-f", str(path)], stdout=log, stderr=log))
        until = time.monotonic() + 40
        states = ""
        while "idle" not in states:
            if time.monotonic() > until or any(process.poll() is not None for process in running):
                reason = "".join((tmp_path / name).read_text()[-300:] for name in programs)
                pytest.skip(f"Slurm does not start here: {reason}")
            time.sleep(0.2)
            sinfo = ["sinfo", "--noheader", "--format=%t"]
            environment_ = {**os.environ, "SLURM_CONF": str(path)}
            states = subprocess.run(sinfo, env=environment_, capture_output=True, text=True).stdout
        yield str(path)
    finally:
        for process in reversed(running):
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
