# SPDX-License-Identifier: Apache-2.0
"""The checker of tests/cluster/history.py finds what is wrong in a history, and nothing in one that is right."""

import copy
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))

from history import BASE, NORM, History, Key, ballast, enlarged

WORKERS, STEPS = 3, 20
SMALL = Key("small", "float64", WORKERS, 50, records=2, shards=1)
CUT = Key("cut", "float32", WORKERS, 50, records=6, shards=2)


class Cluster:
    """What a store has to be like: a list of pushes in one order, of which each shard of a key has a prefix."""

    def __init__(self, kind, policy="wait", staleness=2, seed=0):
        self.kind, self.staleness = kind, staleness
        self.choose = random.Random(seed)
        self.now = 0
        self.pushed = [0] * WORKERS
        self.done = [[] for _ in range(2)]  # (worker, mark), in each shard
        self.history = History(kind, policy, staleness, [SMALL, CUT], [], [[] for _ in range(WORKERS)])

    def tick(self):
        self.now += self.choose.randint(1, 10)
        return self.now

    def write(self, worker, do, **what):
        self.history.records[worker].append({"do": do, "life": 1, **what})

    def value(self, key, pushes_of_record):
        value = np.zeros(key.shape)
        for record in range(key.records):
            for push in pushes_of_record(record):
                value[record] += key.push(*push)[record]
        return value

    def push(self, worker):
        self.pushed[worker] += 1
        for key in (SMALL, CUT):
            mark = self.pushed[worker]
            self.write(worker, "push", key=key.name, mark=mark, begin=self.tick())
            self.write(worker, "pushed", key=key.name, mark=mark, number=mark)

    def apply(self, worker):
        for shard in self.done:
            shard.append((worker, self.pushed[worker]))

    def pull(self, worker, last=False):
        begin, number = self.tick(), self.pushed[worker]
        if self.kind == "dist_sync":
            shards = [[(who, mark) for who in range(WORKERS) for mark in range(1, number + 1)]] * 2
        else:
            shards = self.done
        for key in (SMALL, CUT):
            half = key.records // 2
            value = self.value(
                key, lambda record, key=key, half=half: shards[int(key is CUT and record >= half)]
            )
            times = {"begin": begin, "end": self.tick()}
            self.write(worker, "pull", key=key.name, number=number, last=last, runs=key.runs(value), **times)

    def run(self):
        """In dist_sync all push before anybody pulls; else workers take turns, and keep to the bound."""
        if self.kind == "dist_sync":
            for _ in range(STEPS):
                for worker in range(WORKERS):
                    self.push(worker)
                for worker in self.choose.sample(range(WORKERS), WORKERS):
                    self.pull(worker)
        while self.kind != "dist_sync" and min(self.pushed) < STEPS:
            worker = self.choose.randrange(WORKERS)
            if self.pushed[worker] < min(STEPS, min(self.pushed) + self.staleness):
                self.push(worker)
                self.apply(worker)
                self.pull(worker)
        for worker in range(WORKERS):
            self.write(worker, "barrier", position=2, begin=self.now, end=self.tick())
        for worker in range(WORKERS):
            self.pull(worker, last=True)
        return self.history


def kinds(history):
    return {violation.kind for violation in history.check()}


def pulls(history, worker=0, key=SMALL):
    return [
        record for record in history.records[worker] if record["do"] == "pull" and record["key"] == key.name
    ]


def change(pull, key, worker, mark, times):
    """Puts a push into a pull's value once more, or takes it out."""
    word, digit = divmod(mark - 1, len_digits(key))
    for _, elements in pull["runs"]:
        elements[worker * key.words + word] += times * BASE**digit


def len_digits(key):
    return {"float64": 26, "float32": 12}[key.dtype]


@pytest.mark.parametrize("kind", ["dist_sync", "dist_async", "dist_ssp"])
@pytest.mark.parametrize("policy", ["wait", "continue"])
def test_a_good_history_is_good(kind, policy):
    for seed in range(3):
        assert Cluster(kind, policy, seed=seed).run().check() == []


@pytest.mark.parametrize("kind", ["dist_sync", "dist_async", "dist_ssp"])
def test_what_is_lost_doubled_or_invented_is_found(kind):
    good = Cluster(kind).run()
    for key in (SMALL, CUT):
        for times, expected in ((1, "doubled"), (-1, "lost")):
            for index in (5, -1):  # on the way, and the last read
                history = copy.deepcopy(good)
                pull = pulls(history, 1, key)[index]
                change(pull, key, 1, 3, times)
                found = history.check()
                assert expected in {one.kind for one in found}, (key, times, index)
                assert all(one.key == key.name for one in found)
                named = "push 3 of worker 1" if times > 0 else "3 of worker 1"
                assert any(named in one.text for one in found if one.kind == expected) or kind == "dist_sync"
        history = copy.deepcopy(good)
        change(pulls(history, 0, key)[2], key, 2, 35, 1)  # which nobody has pushed
        assert "invented" in kinds(history)
        for nonsense in (0.5, -1, "nan", 1e17):
            history = copy.deepcopy(good)
            pulls(history, 0, key)[4]["runs"][0][1][0] = nonsense
            assert "invented" in kinds(history), nonsense


def test_an_update_that_all_lose_is_found():
    """A server forgets a push that was acknowledged; nobody ever sees it again, and reads agree."""
    for kind in ("dist_async", "dist_ssp", "dist_sync"):
        history = Cluster(kind).run()
        for worker in range(WORKERS):
            for key in (SMALL, CUT):
                for pull in pulls(history, worker, key):
                    for _, elements in pull["runs"]:
                        word, digit = divmod(7 - 1, len_digits(key))
                        place = 2 * key.words + word
                        if elements[place] // BASE**digit % BASE == 1:
                            elements[place] -= BASE**digit
        assert "lost" in kinds(history), kind


def test_half_an_update_is_found():
    for kind in ("dist_sync", "dist_async"):
        for key, change_at in ((SMALL, 1), (CUT, 2)):  # two records of one shard differ
            history = Cluster(kind).run()
            pull = pulls(history, 0, key)[10]
            start, elements = pull["runs"][0]
            other = list(elements)
            other[0] += BASE**20 if key is SMALL else BASE**11
            pull["runs"] = [[start, elements], [change_at, other], [change_at + 1, list(elements)]]
            assert "torn" in kinds(history), (kind, key)


def test_shards_of_different_moments_are_no_half_updates():
    """Beyond dist_sync, and only as many as there are shards."""
    cluster = Cluster("dist_async")
    for worker in range(WORKERS):
        cluster.push(worker)
    cluster.done[0] += [(0, 1), (1, 1)]
    cluster.done[1] += [(0, 1)]
    cluster.pull(0)
    assert len(pulls(cluster.history, 0, CUT)[0]["runs"]) == 2
    assert cluster.history.check() == []
    cluster.history.kind = "dist_sync"
    assert "torn" in kinds(cluster.history)


def test_a_read_that_goes_backwards_is_found():
    for kind in ("dist_sync", "dist_async"):
        history = Cluster(kind).run()
        one = pulls(history, 0)
        one[15]["runs"] = copy.deepcopy(one[10]["runs"])
        assert "backwards" in kinds(history), kind
    # A read of another worker, which begins when the newer value has been seen; each worker by itself goes forwards.
    cluster = Cluster("dist_async")
    for worker in (0, 1):
        cluster.push(worker)
        cluster.apply(worker)
        cluster.pull(worker)
    assert cluster.history.check() == []
    cluster.done = [shard[1:] + shard[:1] for shard in cluster.done]  # only worker 1's, then worker 0's
    late = copy.deepcopy(cluster.history)
    for key in (SMALL, CUT):
        change(pulls(late, 1, key)[0], key, 0, 1, -1)
    assert {"backwards", "forked"} <= kinds(late)


def test_two_heads_are_found():
    """Two servers of one shard take pushes, each without the other's."""
    cluster = Cluster("dist_async")
    times = cluster.now
    for worker in (0, 1):
        cluster.now = times  # at the same time
        cluster.done = [[], []]
        cluster.push(worker)
        cluster.apply(worker)
        cluster.pull(worker)
    assert kinds(cluster.history) == {"forked"}


@pytest.mark.parametrize("beyond", [0, 1])
def test_a_bound_that_is_not_kept_is_found(beyond):
    cluster = Cluster("dist_ssp", staleness=2)
    for _ in range(2 + beyond):
        cluster.push(0)
        cluster.apply(0)
        cluster.pull(0)
    assert kinds(cluster.history) == ({"stale"} if beyond else set())


def test_rounds_without_a_silent_worker_are_excused_by_policy_only():
    good = Cluster("dist_sync", "continue").run()
    history = copy.deepcopy(good)
    at = next(r["begin"] for r in history.records[2] if r["do"] == "push" and r["mark"] == 7)
    seen = next(pull["end"] for pull in pulls(history, 2) if pull["number"] == 7)
    for worker in range(WORKERS):
        for key in (SMALL, CUT):
            for pull in pulls(history, worker, key):
                if pull["number"] >= 7:
                    change(pull, key, 2, 7, -1)
    assert kinds(history) == {"lost"}
    history.excuses = [(1, at, seen), (2, 0, at - 1)]  # another worker, another time
    assert kinds(history) == {"lost"}
    history.excuses = [(2, at + 1, seen)]
    assert kinds(history) == set()
    history.policy = "wait"
    assert kinds(history) == {"lost"}
    # Who comes back sees the round where the others are; who was there all the time does not.
    history = copy.deepcopy(good)
    history.excuses = [(2, at, seen)]
    for worker, expected in ((2, set()), (1, {"invented"})):
        seven, eight = (pulls(history, worker, SMALL)[index] for index in (6, 7))
        seven.update(runs=eight["runs"], end=eight["end"])
        assert kinds(history) == expected


def clipped(key, rounds, without=()):
    """What servers have to make of pushes, and make of them where parts of rounds' norms (worker, number) are lost."""
    value = np.zeros(key.shape)
    for number in range(1, rounds + 1):
        pushes = sum(key.push(worker, number).astype("float64") for worker in range(WORKERS))
        pushes *= enlarged(number)
        ballasts = [ballast(w, WORKERS, number) for w in range(WORKERS) if (w, number) not in without]
        norm = np.sqrt(sum(ballasts) ** 2 + (pushes**2).sum())
        value += pushes * min(1, NORM / (norm + 1e-8))
    return value


@pytest.mark.parametrize("key", [SMALL, CUT, Key("half", "float16", WORKERS, 50, records=2, shards=1)])
def test_values_of_clipped_gradients_are_exact_unless_a_part_of_the_norm_is_lost(key):
    for rounds in (1, 5, 17):
        for _, elements in key.runs(clipped(key, rounds)):
            assert (key.counts(elements).sum(axis=1) == rounds).all()
    for lost in [(0, 5), (1, 4), (2, 3)]:
        [(_, elements), *_] = key.runs(clipped(key, 5, without=[lost]))
        try:
            counts = key.counts(elements)
        except ValueError:
            continue  # no sum of pushes
        assert (counts.sum(axis=1) != 5).any() or (counts > 1).any(), lost


def test_the_program_reads_files(tmp_path):
    history = Cluster("dist_async").run()
    change(pulls(history, 1)[3], SMALL, 1, 2, 1)
    keys = [vars(key) for key in history.keys]
    about = {"kind": history.kind, "policy": "wait", "staleness": 0, "workers": WORKERS, "keys": keys}
    (tmp_path / "history.json").write_text(json.dumps({**about, "excuses": []}))
    for worker, records in enumerate(history.records):
        text = "".join(json.dumps(record) + "\n" for record in records)
        (tmp_path / f"history-{worker}.jsonl").write_text(
            text + '{"do": "pu'
        )  # killed in the middle of a line
    command = [sys.executable, Path(__file__).resolve().parents[1] / "cluster/history.py", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "doubled, key 'small': worker 1, pull 4: push 2 of worker 1 is in the value 2 times" in done.stdout
