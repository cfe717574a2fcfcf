# SPDX-License-Identifier: Apache-2.0
"""What `tune.search` costs: uneven trials by 2 workers beside the ideal schedule, and empty trials through the journal.

python benchmarks/magma/search.py [--trials 500]
"""

import argparse
import json
import random
import tempfile
import time
from pathlib import Path

from loomix import tune

SPACE = {"x": tune.Float(0.0, 1.0), "y": tune.Float(1e-4, 1.0, log=True), "z": tune.Int(1, 64)}


def uneven(trial):
    """Sleeps for 0.05 to 1.5 s, by its number alone, and writes when."""
    begin = time.time()
    time.sleep(random.Random(trial.number).uniform(0.05, 1.5))
    (trial.folder / "span.json").write_text(json.dumps([begin, time.time()]))
    return trial["x"]


def empty(trial):
    """Nothing."""
    return trial["x"]


def beside_ideal(folder, workers=2, trials=32):
    """From the first begin to the last end, divided by what workers take that are always busy."""
    tune.search(uneven, SPACE, trials=trials, workers=workers, folder=folder, progress=False)
    spans = [json.loads(path.read_text()) for path in Path(folder).glob("trials/*/span.json")]
    whole = max(end for _, end in spans) - min(begin for begin, _ in spans)
    return whole / (sum(end - begin for begin, end in spans) / workers)


def trials_a_second(folder, method, trials, workers):
    """With the search's start, but without that of its processes."""
    begin = time.perf_counter()
    tune.search(empty, SPACE, method=method, trials=trials, workers=workers, folder=folder, progress=False)
    return trials / (time.perf_counter() - begin)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    trials = parser.parse_args().trials
    with tempfile.TemporaryDirectory() as folder:
        print(f"32 uneven trials by 2 workers: {beside_ideal(folder + '/uneven'):.3f} x the ideal schedule")
        for method in ("random", "tpe"):
            rate = trials_a_second(f"{folder}/{method}", method, trials, 1)
            print(f"{trials} empty trials, {method}: {rate:.0f} a second")


if __name__ == "__main__":
    main()
