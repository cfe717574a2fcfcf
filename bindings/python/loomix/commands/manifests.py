# SPDX-License-Identifier: Apache-2.0
"""Clusters as jobs of Slurm and Kubernetes: the files that describe them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from argparse import Namespace

_SBATCH = ("--ntasks", "--job-name", "--nodes", "--time", "--overcommit")
_TERMINATION = 30  # seconds that Kubernetes gives a pod to end


def slurm_command(args: Namespace) -> list[str]:
    """srun and its options; parts are placed in their order, so the scheduler is on the first machine."""
    command = ["srun", f"--ntasks={1 + args.servers + args.workers}", f"--job-name={args.name}"]
    command += ["--overcommit", "--distribution=block", "--kill-on-bad-exit=1"]
    if args.nodes:
        command.append(f"--nodes={args.nodes}")
    if args.time:
        command.append(f"--time={args.time}")
    return command


def slurm_script(args: Namespace, variables: Mapping[str, Any], part: Any) -> str:
    """A script for sbatch that runs all parts."""
    given = [option for option in slurm_command(args) if option.split("=")[0] in _SBATCH]
    lines = ["#!/bin/bash", *(f"#SBATCH {option}" for option in given), "set -eu"]
    lines += [f"export {name}={shlex.quote(value)}" for name, value in variables.items() if value]
    lines.append(f"exec {shlex.join(slurm_command(args))} {shlex.join(part)}")
    return "\n".join(lines) + "\n"


def _yaml(value: Any, indent: int = 0) -> Iterator[Any]:
    """Lists and dicts as lines of YAML; texts are quoted as in JSON, which YAML contains."""
    space = "  " * indent
    if isinstance(value, dict):
        for key, item in value.items():
            if isinstance(item, (dict, list)) and item:
                yield f"{space}{key}:"
                yield from _yaml(item, indent + 1)
            else:
                yield f"{space}{key}: {json.dumps(item)}"
    else:
        for item in value:
            if isinstance(item, dict):
                first, *rest = _yaml(item, indent + 1)
                yield f"{space}- {first.strip()}"
                yield from rest
            else:
                yield f"{space}- {json.dumps(item)}"


def _job(
    args: Namespace, variables: Mapping[str, Any], role: str, count: int, command: Any
) -> dict[Any, Any]:
    name = f"{args.name}-{role}"
    labels = {"app": args.name, "role": role}
    rank = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    environment = [{"name": key, "value": value} for key, value in variables.items()]
    environment += [
        {"name": "DMLC_ROLE", "value": role},
        {"name": "LOOMIX_KV_RANK", "valueFrom": {"fieldRef": {"fieldPath": rank}}},
        {"name": "LOOMIX_KV_HOST", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
    ]
    container = {"name": role, "image": args.image, "command": command, "env": environment}
    pod = {
        "restartPolicy": "OnFailure" if args.restart else "Never",
        "terminationGracePeriodSeconds": _TERMINATION,
        "containers": [container],
    }
    mounts, volumes = [], []
    if args.keys:
        mounts.append({"name": "keys", "mountPath": "/etc/loomix", "readOnly": True})
        own = [{"key": name, "path": name} for name in ("ca.pem", f"{role}.pem")]
        secret = {"secretName": args.keys, "defaultMode": 0o400, "items": own}
        volumes.append({"name": "keys", "secret": secret})
    if args.volume and role == "server":
        mounts.append({"name": "snapshots", "mountPath": variables["LOOMIX_KV_SNAPSHOT_DIR"]})
        volumes.append({"name": "snapshots", "persistentVolumeClaim": {"claimName": args.volume}})
    if mounts:
        container["volumeMounts"], pod["volumes"] = mounts, volumes
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": args.namespace, "labels": labels},
        "spec": {
            "completionMode": "Indexed",
            "completions": count,
            "parallelism": count,
            "backoffLimit": args.restart * count,
            "template": {"metadata": {"labels": labels}, "spec": pod},
        },
    }


def kubernetes_manifest(args: Namespace, variables: Mapping[str, Any]) -> str:
    """A service that finds the scheduler, and a job for each role.

    ``args.keys`` names a secret whose entries are the files of a folder of keys; each job gets those of its role.
    ``args.volume`` names a claim of a volume that servers
    see where snapshots go.
    """
    variables = dict(variables)
    if args.keys:
        variables["LOOMIX_KV_KEYS"] = "/etc/loomix"
    serve = ["python", "-m", "loomix", "serve"]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": f"{args.name}-scheduler", "namespace": args.namespace},
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": {"app": args.name, "role": "scheduler"},
            "ports": [{"name": "kvstore", "port": int(variables["DMLC_PS_ROOT_PORT"])}],
        },
    }
    documents = [
        service,
        _job(args, variables, "scheduler", 1, serve),
        _job(args, variables, "server", args.servers, serve),
        _job(args, variables, "worker", args.workers, args.command),
    ]
    return "---\n".join("\n".join(_yaml(document)) + "\n" for document in documents)
