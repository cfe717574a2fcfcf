# SPDX-License-Identifier: Apache-2.0
"""Whether a cluster did what it promises, by what its workers saw.

    python tests/cluster/history.py FOLDER

Each worker writes down its pushes before it makes them, and its pulls with the values that it got. Push number i of a
worker adds one digit to its own elements, so a value says exactly which pushes are in it, and how often. Nothing here
knows the servers' code.

What is checked of each key:

- *doubled*: a push is in a value twice.
- *invented*: it is in a value before it was made, or the value is no sum of pushes.
- *lost*: a push is missing that has to be there. In ``dist_sync`` round n has the pushes 1 to n of all workers;
  elsewhere a worker's pushes come in their order, a worker finds its own, and the last reads find all.
- *torn*: the value of one shard is not one moment.
- *forked*: two reads of one shard of which neither contains the other.
- *backwards*: a read that does not contain what an earlier one had: of the same worker, or, beyond ``dist_sync``, of
  any.
- *stale*: in ``dist_ssp`` a read that is more than the bound behind.

Where servers clip gradients by their norm, values have to be the same as without: see ``enlarged``.

By the policy `continue` rounds of ``dist_sync`` go on without a worker that is silent. Its pushes at that time are
*excused*.
"""

from __future__ import annotations

import json
import math
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

BASE = 4  # so that a push that is in twice shows as the digit 2
LINE = 32  # elements: whole cache lines, whatever their type
DIGITS = {"float64": 26, "float32": 12, "float16": 5, "bfloat16": 4}  # that a number holds exactly


# Where gradients are clipped by the norm of all of them, a round's pushes are larger than otherwise by a power of two,
# and servers have to scale them back: so values are the same, digit by digit. One more key is so large that, rounded to
# a double, the norm is that key's alone: a power of two, so that no value is rounded. Each worker has a part in it.
# Where one is lost or doubled, all values of the round are wrong.
NORM = 2.0**100  # the limit
BALLAST = "ballast"  # the key


def enlarged(number: int) -> float:
    """What pushes of a round are multiplied by."""
    return 2.0 ** (1 + number % 3)


def ballast(worker: int, workers: int, number: int) -> float:
    """A worker's part in the norm of a round: a half, a quarter, and so on; the last two have the same."""
    return NORM * enlarged(number) / 2 ** min(worker + 1, workers - 1)


@dataclass(frozen=True)
class Key:
    """A key's elements: records of each worker's digits, one after the other. Every record says the same. Records are
    whole cache lines, and as many in each shard, so that none is cut."""

    name: str | int
    dtype: str
    workers: int
    pushes: int  # at most, of a worker
    records: int
    shards: int  # at most; a value may come from different moments of each

    @property
    def words(self) -> int:
        return math.ceil(self.pushes / DIGITS[self.dtype])

    @property
    def shape(self) -> tuple[int, int]:
        return self.records, -(-self.workers * self.words // LINE) * LINE

    def push(self, worker: int, number: int) -> np.ndarray:
        """What push `number` (from 1 on) of a worker adds."""
        word, digit = divmod(number - 1, DIGITS[self.dtype])
        value = np.zeros(self.shape, "float32" if self.dtype != "float64" else "float64")
        value[:, worker * self.words + word] = BASE**digit
        return value

    def runs(self, value: np.ndarray) -> list[list[Any]]:
        """A value as it is written down: [first record, its elements] of each stretch of equal records."""
        starts = [0, *(np.flatnonzero((value[1:] != value[:-1]).any(axis=1)) + 1)]
        return [
            [int(start), [int(x) if x == int(x) else float(x) for x in map(float, value[start])]]
            if np.isfinite(value[start]).all()
            else [int(start), [str(x) for x in value[start]]]
            for start in starts
        ]

    def counts(self, elements: Sequence[Any]) -> np.ndarray:
        """How often each push is in a record, by worker and number."""
        if len(elements) != self.shape[1] or not all(isinstance(x, int) and x >= 0 for x in elements):
            raise ValueError(f"{elements} is no sum of pushes")
        words, rest = np.split(np.array(elements, "int64"), [self.workers * self.words])
        words = words.reshape(self.workers, self.words, 1)
        digits = words // BASE ** np.arange(DIGITS[self.dtype], dtype="int64") % BASE
        if (words >= BASE ** DIGITS[self.dtype]).any() or rest.any():
            raise ValueError(f"{elements} is no sum of pushes")
        return digits.reshape(self.workers, -1)[:, : self.pushes]


@dataclass
class Pull:
    worker: int
    life: int
    number: int  # pushes of this worker before it
    begin: int
    end: int
    last: bool  # after all pushes of all workers
    states: list[tuple[int, np.ndarray]] = field(default_factory=list)  # from which record on; what is in it

    def at(self, record: int) -> np.ndarray:
        return next(counts for start, counts in reversed(self.states) if start <= record)


@dataclass(frozen=True)
class Violation:
    kind: str
    key: str | int
    at: int
    text: str

    def __str__(self) -> str:
        return f"{self.kind}, key {self.key!r}: {self.text}"


@dataclass
class History:
    kind: str
    policy: str
    staleness: int
    keys: list[Key]
    excuses: list[tuple[int, int, int]]  # worker, from, to
    records: list[list[dict[str, Any]]]  # of each worker, in its order

    @staticmethod
    def read(folder: Path) -> History:
        about = json.loads((folder / "history.json").read_text())
        keys = [Key(**key) for key in about.pop("keys")]
        excuses = [tuple(excuse) for excuse in about.pop("excuses")]
        about.pop("clipped", None)  # values are the same
        records = []
        for worker in range(about.pop("workers")):
            path = folder / f"history-{worker}.jsonl"
            lines = path.read_text().splitlines(keepends=True) if path.exists() else []
            # The line in which a worker was killed is not whole.
            records.append([json.loads(line) for line in lines if line.endswith("\n")])
        return History(**about, keys=keys, excuses=excuses, records=records)

    def is_loose(self) -> bool:
        """Whether rounds go on without workers."""
        return self.kind == "dist_sync" and self.policy == "continue"

    def check(self) -> list[Violation]:
        """What is wrong, in the order of time."""
        found: list[Violation] = []
        for key in self.keys:
            found += _KeyHistory(self, key).check()
        return sorted(found, key=lambda one: one.at)


class _KeyHistory:
    """One key. Arrays have a row a worker and a column a push; a push that was made again counts as made last."""

    def __init__(self, history: History, key: Key) -> None:
        self.history = history
        self.key = key
        self.pulls: list[Pull] = []
        self.found: list[Violation] = []
        shape = key.workers, key.pushes
        self.begun = np.full(shape, math.inf)  # the first time
        self.made = np.full(shape, math.inf)  # the last time
        self.life = np.zeros(shape, int)
        # By which the store counts it: a worker that was left out goes on where the others are.
        self.number = np.zeros(shape, int)
        self.seen = np.full(shape, math.inf)  # when its worker had an answer that contains it
        for worker, records in enumerate(history.records):
            self._take(worker, records)
        self.excused = np.zeros(shape, bool)  # rounds may go on without it
        for worker, begin, end in history.excuses if history.is_loose() else ():
            self.excused[worker] |= (self.made[worker] <= end) & (self.seen[worker] >= begin)

    def _take(self, worker: int, records: list[dict[str, Any]]) -> None:
        waiting: list[int] = []
        life = 0
        for record in records:
            if record["life"] != life:
                life, waiting = record["life"], []
            if record["do"] == "barrier":  # all that was pushed before has arrived
                self.seen[worker, waiting] = record["end"]
                waiting = []
            elif record["key"] != self.key.name:
                continue
            elif record["do"] == "push":
                push = record["mark"] - 1
                self.begun[worker, push] = min(self.begun[worker, push], record["begin"])
                self.made[worker, push] = record["begin"]
                self.life[worker, push] = life
                self.number[worker, push] = record["mark"]
                self.seen[worker, push] = math.inf
                waiting.append(push)
            elif record["do"] == "pushed":
                self.number[worker, record["mark"] - 1] = record["number"]
            else:
                pull = Pull(worker, *(record[name] for name in ("life", "number", "begin", "end", "last")))
                self._decode(pull, record["runs"])
                if pull.states:
                    self.pulls.append(pull)
                self.seen[worker, waiting] = record["end"]
                waiting = []

    def _decode(self, pull: Pull, runs: list[Any]) -> None:
        try:
            pull.states = [(start, self.key.counts(elements)) for start, elements in runs]
        except ValueError as error:
            self._report("invented", pull, str(error))

    def _report(self, kind: str, pull: Pull, text: str) -> None:
        who = f"worker {pull.worker}, pull {pull.number}"
        self.found.append(Violation(kind, self.key.name, pull.end, f"{who}: {text}"))

    def check(self) -> list[Violation]:
        for pull in self.pulls:
            self._check_torn(pull)
            for _, counts in pull.states:
                self._check_counts(pull, counts)
                self._check_lost(pull, counts)
                self._check_own(pull, counts)
                self._check_bound(pull, counts)
                if pull.last:
                    self._check_last(pull, counts)
        self._check_order()
        return self.found

    def _check_torn(self, pull: Pull) -> None:
        # At the end nobody changes a value, but a worker that comes back late.
        complete = pull.last and self.history.policy != "continue"
        strict = complete or (self.history.kind == "dist_sync" and not self.history.is_loose())
        most = 1 if strict else self.key.shards
        if len(pull.states) > most:
            starts = [start for start, _ in pull.states]
            self._report("torn", pull, f"there are other pushes from the records {starts} on")

    def _check_counts(self, pull: Pull, counts: np.ndarray) -> None:
        for worker, index in np.argwhere(counts > 1):
            times = counts[worker, index]
            self._report(
                "doubled", pull, f"push {index + 1} of worker {worker} is in the value {times} times"
            )
        for worker, index in np.argwhere((counts > 0) & (self.begun > pull.end)):
            self._report("invented", pull, f"push {index + 1} of worker {worker} was not made before")

    def _expect(self, pull: Pull, counts: np.ndarray, due: np.ndarray, why: str) -> None:
        missing = due & (counts == 0) & ~self.excused
        if missing.any():
            self._report("lost", pull, f"{why} lacks {_named(missing)}")

    def _check_lost(self, pull: Pull, counts: np.ndarray) -> None:
        if self.history.is_loose():
            made = self.number > 0
            self._expect(pull, counts, made & (self.number <= pull.number), f"round {pull.number}")
            later = (counts > 0) & made & (self.number > pull.number)
            if later.any() and not self._is_away(
                pull.worker, pull
            ):  # who comes back sees where the others are
                self._report("invented", pull, f"round {pull.number} has {_named(later)}")
            return
        for worker, row in enumerate(counts > 0):
            marks = [int(index) + 1 for index in np.flatnonzero(row)]
            if self.history.kind == "dist_sync" and len(marks) != pull.number:
                text = f"round {pull.number} has {len(marks)} pushes of worker {worker}"
                self._report("lost" if len(marks) < pull.number else "invented", pull, text)
            if marks and marks[-1] != len(marks):
                gaps = sorted(set(range(1, marks[-1])) - set(marks))
                text = f"push {marks[-1]} of worker {worker} is in it, but not {_ranges(gaps)}"
                self._report("lost", pull, text)

    def _check_own(self, pull: Pull, counts: np.ndarray) -> None:
        own = np.zeros(counts.shape, bool)
        own[pull.worker] = (self.life[pull.worker] == pull.life) & (self.made[pull.worker] < pull.begin)
        self._expect(pull, counts, own, "a read after its own pushes")

    def _check_bound(self, pull: Pull, counts: np.ndarray) -> None:
        if self.history.kind != "dist_ssp":
            return
        for worker, row in enumerate(counts):
            behind = pull.number - int((row > 0).sum())
            if behind > self.history.staleness and not self._is_away(worker, pull):
                text = f"worker {worker} is {behind} behind; the bound is {self.history.staleness}"
                self._report("stale", pull, text)

    def _is_away(self, worker: int, pull: Pull) -> bool:
        """Whether others may have gone on without the worker during the pull."""
        return self.history.policy == "continue" and any(
            who == worker and begin <= pull.end and pull.begin <= end
            for who, begin, end in self.history.excuses
        )

    def _check_last(self, pull: Pull, counts: np.ndarray) -> None:
        self._expect(pull, counts, self.seen <= pull.begin, "a last read")

    def _check_order(self) -> None:
        """Values of one shard are one after the other; so reads are, too."""
        records = range(0, self.key.records, max(1, self.key.records // (2 * self.key.shards)))
        for record in {0, *records, self.key.records - 1} if self.key.shards > 1 else {0}:
            states = [(pull.at(record) > 0, pull) for pull in self.pulls]
            by_size = sorted(states, key=lambda one: int(one[0].sum()))
            for (less, _), (more, pull) in zip(by_size, by_size[1:], strict=False):
                if (less & ~more).any():
                    pushes = f"{_named(less & ~more)} instead of {_named(more & ~less)}"
                    self._report("forked", pull, f"another read has {pushes}")
            groups: dict[int, list[tuple[np.ndarray, Pull]]] = defaultdict(list)
            for state, pull in states:
                groups[pull.worker if self.history.kind == "dist_sync" else 0].append((state, pull))
            for group in groups.values():
                self._check_forwards(group)

    def _check_forwards(self, states: list[tuple[np.ndarray, Pull]]) -> None:
        ended = sorted(states, key=lambda one: one[1].end)
        seen = np.zeros((self.key.workers, self.key.pushes), bool)
        after = 0
        for state, pull in sorted(states, key=lambda one: one[1].begin):
            while ended[after][1].end < pull.begin:
                seen = seen | ended[after][0]
                after += 1
            if (seen & ~state).any():
                self._report("backwards", pull, f"earlier reads had {_named(seen & ~state)}")


def _named(pushes: np.ndarray) -> str:
    """Pushes by worker."""
    return (
        ", ".join(
            f"pushes {_ranges([int(index) + 1 for index in np.flatnonzero(row)])} of worker {worker}"
            for worker, row in enumerate(pushes)
            if row.any()
        )
        or "none"
    )


def _ranges(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers[-1] - numbers[0] == len(numbers) - 1:
        return f"{numbers[0]} to {numbers[-1]}"
    return ", ".join(str(number) for number in numbers[:10]) + (" ..." if len(numbers) > 10 else "")


def main() -> int:
    if len(sys.argv) != 2:
        print(f"usage: {sys.argv[0]} FOLDER", file=sys.stderr)
        return 2
    violations = History.read(Path(sys.argv[1])).check()
    for violation in violations:
        print(violation)
    print(f"{len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
