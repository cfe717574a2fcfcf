# SPDX-License-Identifier: Apache-2.0
"""Which hearts are ill: a search finds how a network of five layers learns it best from 13 attributes.

The patients are made by rule, with about the means, deviations and shares of the 303 patients from Cleveland
(Detrano et al. 1989). A weighted sum of their attributes says who is ill, and nobody is close to its limit. The search
ends with the first network that is right about 99 % of 1,000 patients that it has not seen.

python heart.py [--method tpe] [--workers 2] [--seed 0] [--folder FOLDER]
"""

from __future__ import annotations

import argparse
import tempfile

import loomix as mx
import numpy as np
from loomix import autograd, gluon, tune

PATIENTS, EPOCHS, BATCH = 303, 4, 20
SPACE: dict[str, tune.Float | tune.Int | tune.Choice] = {
    "log_rate": tune.Float(-4.0, 0.5, step=0.25),  # the learning rate's decimal logarithm
    "units": tune.Int(4, 32, step=4),
    "activation": tune.Choice(["sigmoid", "tanh", "relu"]),
    "momentum": tune.Choice([0.0, 0.9]),
}  # a grid of 912 points
WEIGHTS = np.array([0.1, 0.4, 0.6, 0.2, 0.1, 0.0, 0.2, -0.4, 0.5, 0.5, 0.3, 0.9, 0.8])
GAP = 0.3  # between the limit and the closest patient


def draw(rng: np.random.Generator, count: int) -> np.ndarray:
    """Age, sex, pain, pressure, cholesterol, sugar, ECG, pulse, angina, depression, slope, vessels, thallium."""

    def share(values, shares):
        return rng.choice(values, count, p=shares)

    columns = [
        np.clip(rng.normal(54.4, 9.0, count), 29, 77),
        share([0, 1], [0.32, 0.68]),
        share([1, 2, 3, 4], [0.08, 0.16, 0.28, 0.48]),
        np.clip(rng.normal(131.7, 17.6, count), 94, 200),
        np.clip(rng.normal(246.7, 51.8, count), 126, 564),
        share([0, 1], [0.85, 0.15]),
        share([0, 1, 2], [0.50, 0.01, 0.49]),
        np.clip(rng.normal(149.6, 22.9, count), 71, 202),
        share([0, 1], [0.67, 0.33]),
        np.clip(rng.exponential(1.04, count), 0, 6.2),
        share([1, 2, 3], [0.47, 0.46, 0.07]),
        share([0, 1, 2, 3], [0.59, 0.22, 0.12, 0.07]),
        share([3, 6, 7], [0.55, 0.06, 0.39]),
    ]
    return np.stack(columns, axis=1)


def patients(seed: int, count: int) -> tuple[mx.nd.NDArray, mx.nd.NDArray]:
    """Attributes, scaled to mean 0 and deviation 1, and who is ill."""
    everyone = draw(np.random.default_rng(1989), 4000)
    mean, deviation = everyone.mean(axis=0), everyone.std(axis=0)
    limit = np.quantile((everyone - mean) / deviation @ WEIGHTS, 0.54)  # 46 % are ill
    x = (draw(np.random.default_rng(seed), 2 * count) - mean) / deviation
    score = x @ WEIGHTS - limit
    clear = np.flatnonzero(np.abs(score) > GAP)[:count]
    return mx.nd.array(x[clear]), mx.nd.array(score[clear] > 0)


def objective(trial: tune.Trial) -> dict[str, float]:
    """Accuracy and Matthews' coefficient of patients that the network has not seen."""
    mx.random.seed(7)
    x, y = patients(1, PATIENTS)
    net = gluon.nn.HybridSequential()
    for _ in range(4):
        net.add(gluon.nn.Dense(trial["units"], activation=trial["activation"]))
    net.add(gluon.nn.Dense(2))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    settings = {"learning_rate": 10 ** trial["log_rate"], "momentum": trial["momentum"]}
    trainer = gluon.Trainer(net.collect_params(), "sgd", settings)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    loss.hybridize()
    for _ in range(EPOCHS):
        for begin in range(0, PATIENTS, BATCH):
            batch = x[begin : begin + BATCH]
            with autograd.record():
                error = loss(net(batch), y[begin : begin + BATCH])
            error.backward()
            trainer.step(len(batch))
    x, y = patients(2, 1000)
    accuracy, matthews = mx.metric.Accuracy(), mx.metric.MCC()
    out = mx.nd.softmax(net(x))
    accuracy.update([y], [out])
    matthews.update([y], [out])
    return {"accuracy": accuracy.get()[1], "matthews": matthews.get()[1]}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--method", choices=["tpe", "random", "grid"], default="tpe")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folder", default=None, help="of the search; by default one that is thrown away")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as thrown_away:
        study = tune.search(
            objective,
            SPACE,
            method=arguments.method,
            weights={"accuracy": 1.0},
            threshold=0.99,
            trials=912,
            workers=arguments.workers,
            seed=arguments.seed,
            folder=arguments.folder or thrown_away,
        )
        best = study.best
        done = sum(trial.state == "complete" for trial in study.trials)  # a grid's others wait
        print(
            f"{done} trials: accuracy {best.values['accuracy']:.4f}, Matthews' coefficient "
            f"{best.values['matthews']:.4f}, {best.params}"
        )


if __name__ == "__main__":
    main()
