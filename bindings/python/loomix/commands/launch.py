# SPDX-License-Identifier: Apache-2.0
"""``python -m loomix launch``: starts the processes of a cluster, here or on other machines."""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import random
import re
import secrets
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .manifests import kubernetes_manifest, slurm_command, slurm_script
from .processes import FORWARDED, Group, Node, exit_code

_FAILED = re.compile(rb"\[launch\] .* failed: (?:exit status (\d+)|ended by (SIG\w+))")  # as Group says it
_LONGEST_INPUT = 60_000  # that fits into a pipe whose other end does not read yet
RANK_VARIABLES = ("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID")


def free_port(count: int = 1) -> int:
    """A port that nobody uses now, or the first of `count` such that follow one another.

    None of those that the system gives to outgoing connections: while a node is down that will come back to its
    port, any of these could take it, even that of a peer that calls there."""
    try:
        end = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    except (OSError, ValueError):
        end = 32768
    for _ in range(1000):
        first = random.SystemRandom().randrange(10000, max(end, 20000) - count)
        with contextlib.ExitStack() as stack, contextlib.suppress(OSError):
            for port in range(first, first + count):
                stack.enter_context(socket.socket()).bind(("", port))
            return first
    raise OSError(f"no {count} free ports were found")


def cluster_environment(args: Any, host: str, port: int) -> dict[str, Any]:
    """The variables that all nodes have."""
    variables = {
        "DMLC_PS_ROOT_URI": host,
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(args.workers),
        "DMLC_NUM_SERVER": str(args.servers),
        "LOOMIX_KV_CLUSTER": f"{args.name}-{secrets.token_hex(4)}",
        "LOOMIX_KV_REPLICAS": str(args.replicas),
        "LOOMIX_KV_POLICY": args.policy or ("wait" if args.restarts else "fail"),
        "PYTHONUNBUFFERED": "1",
    }
    if args.keys:
        variables["LOOMIX_KV_KEYS"] = args.keys
    if args.trusted_network:
        variables["LOOMIX_KV_TRUSTED_NETWORK"] = "1"
    if args.snapshot_dir:
        variables["LOOMIX_KV_SNAPSHOT_DIR"] = os.path.abspath(args.snapshot_dir)
    if args.snapshot_every is not None:
        variables["LOOMIX_KV_SNAPSHOT_EVERY"] = str(args.snapshot_every)
    if args.restore:
        variables["LOOMIX_KV_RESTORE"] = "1"
    for item in args.env:
        name, equals, value = item.partition("=")
        variables[name] = value if equals else os.environ.get(name, "")
    return variables


def parts(args: Any) -> Iterator[Any]:
    """(role, rank) of every process, in the order in which they start."""
    yield "scheduler", 0
    yield from (("server", rank) for rank in range(args.servers))
    yield from (("worker", rank) for rank in range(args.workers))


def part_command(args: Any, role: str) -> Any:
    """What a process of this role runs."""
    return args.command if role == "worker" else [sys.executable, "-m", "loomix", "serve"]


def part_environment(role: str, rank: int | None) -> dict[str, str]:
    """The variables that say which part of the cluster a process is."""
    ids = {"worker": "DMLC_WORKER_ID", "server": "DMLC_SERVER_ID"}
    variables = {"DMLC_ROLE": role, "LOOMIX_KV_RANK": str(rank)}
    if role in ids:
        variables[ids[role]] = str(rank)
    return variables


def part_name(role: str, rank: int | None) -> str:
    """How a process is called in the output."""
    return role if role == "scheduler" else f"{role} {rank}"


def run_group(args: Any, nodes: Any) -> Any:
    """Runs processes as the arguments say."""
    return run_to_end(Group(nodes, args.restarts, args.policy == "continue", args.grace))


def run_to_end(group: Any) -> Any:
    """The exit status; 127 where a command is not there."""
    try:
        return group.run()
    except OSError:  # which the group has told
        return 127


def launch_local(args: Any) -> Any:
    """All processes on this machine."""
    shared = cluster_environment(args, args.host or "127.0.0.1", args.port or free_port())
    nodes = [
        Node(
            part_name(role, rank),
            part_command(args, role),
            {**shared, **part_environment(role, rank)},
            role == "worker",
        )
        for role, rank in parts(args)
    ]
    return run_group(args, nodes)


def remote_variables(variables: Mapping[str, str]) -> bytes:
    """The line with which the standard input of a `remote_command` begins."""
    settings = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
    line = base64.b64encode(settings.encode()) + b"\n"
    if len(line) > _LONGEST_INPUT:
        raise Refused(
            f"the variables of a process take {len(line)} bytes; --launcher ssh passes {_LONGEST_INPUT}."
        )
    return line


def remote_command(command: Sequence[str], folder: Any) -> str:
    """A line for a shell on another machine that runs a command until its standard input is closed. Its variables come
    over standard input, since everybody on that machine can read command lines."""
    read = 'IFS= read -r part && part=$(printf %s "$part" | base64 -d) && eval "$part" || exit 126; '
    run = f"cd {shlex.quote(folder)} && exec {shlex.join(command)}"
    # The watcher reads until this side is gone, and then ends the command and all that it started.
    watch = "cat >/dev/null; kill -s TERM -- -$0; sleep 5; kill -s KILL -- -$0"
    return read + (
        f"setsid sh -c {shlex.quote(run)} </dev/null & part=$!; exec 3<&0; "
        f"setsid sh -c {shlex.quote(watch)} $part <&3 >/dev/null 2>&1 & watcher=$!; exec 3<&-; "
        f"wait $part; code=$?; kill -s TERM -- -$watcher 2>/dev/null; exit $code"
    )


class Refused(Exception):
    """What is wrong with the command line, found where it was used."""


def read_hosts(path: str) -> list[str]:
    """What is in the lines of a file of machines."""
    try:
        lines = [line.split("#")[0].strip() for line in Path(path).read_text().splitlines()]
    except (OSError, UnicodeDecodeError) as error:
        raise Refused(f"the --hosts file {path} cannot be read: {error}") from error
    hosts = [line for line in lines if line]
    if not hosts:
        raise Refused(f"{path} names no host; expected one a line.")
    return hosts


def launch_ssh(args: Any) -> Any:
    """Processes on the machines of a host file, one after the other; the scheduler on the first."""
    hosts = read_hosts(args.hosts)
    wrong = next((host for host in hosts if host.startswith("-") or len(host.split()) > 1), None)
    if wrong is not None:
        raise Refused(f"{args.hosts} has the line {wrong!r}; expected a host's name or address alone.")
    shared = cluster_environment(args, args.host or hosts[0], args.port or free_port())
    if "PYTHONPATH" in os.environ:
        shared.setdefault("PYTHONPATH", os.environ["PYTHONPATH"])
    nodes = []
    counts = {"scheduler": 0, "server": 0, "worker": 0}
    for role, rank in parts(args):
        host = hosts[counts[role] % len(hosts)]
        counts[role] += 1
        line = remote_command(part_command(args, role), os.getcwd())
        ssh = ["ssh", "-o", "BatchMode=yes", host, line]
        variables = remote_variables({**shared, **part_environment(role, rank)})
        nodes.append(Node(part_name(role, rank), ssh, {}, role == "worker", variables))
    return run_group(args, nodes)


def part_arguments(args: Any) -> list[Any]:
    """The command by which each process of an MPI or Slurm job finds its part and runs it."""
    given = ["-n", str(args.workers), "-s", str(args.servers), "--grace", str(args.grace)]
    return [sys.executable, "-m", "loomix", "launch", "--part", *given, *args.command]


def launch_mpi(args: Any) -> int:
    """All processes by mpirun."""
    if shutil.which("mpirun") is None:
        print("[launch] there is no mpirun; install OpenMPI (Debian: openmpi-bin).", file=sys.stderr)
        return 127
    if args.hosts:
        read_hosts(args.hosts)
    host = args.host or (socket.gethostname() if args.hosts else "127.0.0.1")
    shared = cluster_environment(args, host, args.port or free_port())
    command = ["mpirun", "-n", str(1 + args.servers + args.workers), "--oversubscribe", "--bind-to", "none"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    if args.hosts:
        command += ["--hostfile", args.hosts]
    for name in shared:
        command += ["-x", name]
    return _replace(command + part_arguments(args), shared)


def launch_slurm(args: Any) -> Any:
    """All parts by srun, or a script for sbatch that runs them."""
    shared = cluster_environment(args, args.host or "", args.port or free_port())
    if args.output:
        return _write(args.output, slurm_script(args, shared, part_arguments(args)))
    if shutil.which("srun") is None:
        print("[launch] there is no srun; install Slurm (Debian: slurm-wlm).", file=sys.stderr)
        return 127
    return run_srun([*slurm_command(args), *part_arguments(args)], shared)


def run_srun(command: Sequence[str], variables: Mapping[str, str]) -> int:
    """Runs srun; the exit status of the part that failed first, which srun's own does not tell."""
    with subprocess.Popen(command, env={**os.environ, **variables}, stderr=subprocess.PIPE) as process:
        came = []

        def forward(number: int, frame: Any) -> None:
            came.append(number)
            process.terminate()

        for number in FORWARDED:
            signal.signal(number, forward)
        code = None
        assert process.stderr is not None  # asked for above
        for line in process.stderr:
            sys.stderr.buffer.write(line)
            sys.stderr.flush()
            failed = _FAILED.match(line)
            if failed and code is None:
                code = int(failed[1]) if failed[1] else 128 + signal.Signals[failed[2].decode()]
        status = process.wait()
    if came:
        return 128 + came[0]
    return code if status != 0 and code is not None else exit_code(status)


def launch_k8s(args: Any) -> int:
    """Writes the manifest of a cluster for ``kubectl apply -f``."""
    if not args.image:
        raise Refused("--launcher k8s needs --image, a container image with Loomix.")
    if args.snapshot_dir and not (args.volume and os.path.isabs(args.snapshot_dir)):
        raise Refused(
            "--launcher k8s needs --volume with --snapshot-dir: a persistent volume claim that all servers can "
            "write (ReadWriteMany), which they see at that path, which is an absolute one."
        )
    shared = cluster_environment(args, f"{args.name}-scheduler", args.port or 9091)
    return _write(args.output or "-", kubernetes_manifest(args, shared))


def _replace(command: Sequence[str], variables: Mapping[str, str]) -> int:
    os.environ.update(variables)
    sys.stdout.flush()
    try:
        os.execvp(command[0], list(command))
    except OSError as error:
        print(f"[launch] {command[0]} cannot be started: {error}", file=sys.stderr)
        return 127


def _write(path: str, text: str) -> int:
    if path == "-":
        sys.stdout.write(text)
        return 0
    try:
        Path(path).write_text(text)
    except OSError as error:
        raise Refused(f"the --output file {path} cannot be written: {error}") from error
    return 0


def run_part(args: Any) -> Any:
    """Runs the part of the cluster that belongs to this process's number in its MPI or Slurm job."""
    number = next((int(os.environ[name]) for name in RANK_VARIABLES if name in os.environ), None)
    if number is None:
        print(f"[launch] --part needs one of {', '.join(RANK_VARIABLES)}.", file=sys.stderr)
        return 2
    role, rank = list(parts(args))[number]
    variables = part_environment(role, rank)
    if not os.environ.get("DMLC_PS_ROOT_URI"):  # where Slurm puts the first part
        names = subprocess.run(["scontrol", "show", "hostnames"], capture_output=True, text=True, check=True)
        variables["DMLC_PS_ROOT_URI"] = names.stdout.split()[0]
    node = Node(part_name(role, rank), part_command(args, role), variables, works=True)
    return run_to_end(Group([node], grace=args.grace))


LAUNCHERS = {
    "local": launch_local,
    "ssh": launch_ssh,
    "mpi": launch_mpi,
    "slurm": launch_slurm,
    "k8s": launch_k8s,
}


def parse(arguments: Sequence[str]) -> Any:
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m loomix launch",
        description="Starts a cluster's scheduler, servers and workers. Workers run the command; lines of all "
        "processes begin with who printed them. Ends everything when one part fails, with its exit status.",
    )
    add = parser.add_argument
    add("-n", "--workers", type=int, required=True)
    add("-s", "--servers", type=int, default=1)
    add("--launcher", choices=sorted(LAUNCHERS), default="local")
    add("--replicas", type=int, default=2, help="on how many servers each value lives (2)")
    add("--policy", choices=["fail", "wait", "continue"], help="what to do when a worker dies (fail)")
    add("--restart", action="store_true", help="start a process that failed again; the policy is wait then")
    add("--restart-limit", type=int, metavar="N", help="how often each process may start again (3)")
    add(
        "--snapshot-dir", metavar="DIR", help="write the cluster's state there; a folder that all servers see"
    )
    add("--snapshot-every", type=int, metavar="ROUNDS", help="how often (100)")
    add(
        "--restore",
        action="store_true",
        help="go on from the newest snapshot in that folder, if there is one",
    )
    add(
        "--env",
        action="append",
        default=[],
        metavar="NAME[=VALUE]",
        help="a variable for all, by default with the value that it has here; may repeat",
    )
    add(
        "--keys",
        metavar="FOLDER",
        help="the cluster's keys, see `python -m loomix keys`; k8s: a secret's name",
    )
    add("--trusted-network", action="store_true", help="several machines without keys")
    add("--host", help="where the scheduler is reached by the others")
    add("--port", type=int, help="of the scheduler; a free one by default")
    add("--hosts", metavar="FILE", help="ssh, mpi: the machines, one a line")
    add("--grace", type=float, default=10.0, help="seconds to end by itself before a process is killed (10)")
    add("--name", default="loomix", help="name of the job")
    add("--output", metavar="FILE", help="slurm, k8s: write the script or manifest here and start nothing")
    add("--image", help="k8s: a container image with Loomix and the program")
    add("--namespace", default="default", help="k8s: where it runs")
    add("--volume", metavar="CLAIM", help="k8s: the persistent volume claim that holds --snapshot-dir")
    add("--nodes", type=int, help="slurm: machines")
    add("--time", help="slurm: time limit")
    add("--part", action="store_true", help=argparse.SUPPRESS)
    add("command", nargs=argparse.REMAINDER, help="what workers run")
    args = parser.parse_args(arguments)
    args.restarts = (3 if args.restart_limit is None else args.restart_limit) if args.restart else 0
    if args.command[:1] == ["--"]:
        del args.command[0]
    if not args.command:
        parser.error("the command that workers run is missing")
    for name in ("workers", "servers", "replicas"):
        if getattr(args, name) < 1:
            parser.error(f"--{name} is {getattr(args, name)}; at least 1 is needed")
    if args.launcher == "ssh" and not args.hosts:
        parser.error("--launcher ssh needs --hosts FILE")
    if args.port is not None and not 0 < args.port < 65536:
        parser.error(f"--port is {args.port}; expected 1 to 65535")
    if args.restart_limit is not None and (not args.restart or args.restart_limit < 1):
        parser.error(f"--restart-limit is {args.restart_limit}; it needs --restart, and at least 1")
    if args.snapshot_every is not None and args.snapshot_every < 1:
        parser.error(f"--snapshot-every is {args.snapshot_every}; at least 1 is needed")
    if not args.snapshot_dir and (args.restore or args.snapshot_every is not None):
        parser.error("--restore and --snapshot-every need --snapshot-dir")
    if args.volume and not (args.launcher == "k8s" and args.snapshot_dir):
        parser.error("--volume is for --launcher k8s with --snapshot-dir")
    return args


def main(_: str, arguments: Sequence[str]) -> Any:
    """Runs ``launch`` with these arguments; its exit status."""
    args = parse(arguments)
    try:
        return run_part(args) if args.part else LAUNCHERS[args.launcher](args)
    except Refused as error:
        print(f"[launch] {error}", file=sys.stderr)
        return 2
