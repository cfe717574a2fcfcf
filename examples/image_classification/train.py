#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the networks of `symbols` on images, or measures how fast they are.

    python examples/image_classification/train.py                          # ResNet-20 on Fashion-MNIST
    python examples/image_classification/train.py --quick                  # some seconds, no data needed
    python examples/image_classification/train.py --network resnet50_v1 --benchmark
    python examples/image_classification/train.py --network mobilenet_1.0 --classes 1000 \\
        --records train.rec --validation-records val.rec

Prints the accuracy of each epoch, and saves checkpoints and a plot of the training in the folder `--output`.
"""

import argparse
import logging
import sys
import time
from pathlib import Path

import data
import loomix as mx
import numpy as np
import symbols

try:
    import matplotlib  # noqa: F401 - for the images at the end, but missed now
    from tqdm import tqdm
except ModuleNotFoundError as error:
    raise SystemExit(f"This example needs {error.name}: pip install tqdm matplotlib") from None

LOGGER = logging.getLogger("image_classification")
LOGGER.setLevel(logging.ERROR)  # the bar says what `fit` would log


class Progress:
    """A progress bar over the batches of an epoch, and the mean loss of each batch."""

    def __init__(self, total):
        self.bar = tqdm(disable=True)
        self.total = total
        self.losses = []
        self.seen = (0.0, 0)

    def __call__(self, param):
        if param.nbatch == 0:
            self.bar = tqdm(total=self.total, desc=f"epoch {param.epoch + 1}", unit="batch", mininterval=0.2)
            self.seen = (0.0, 0)
        metric = param.eval_metric.metrics[1]  # of the epoch so far; its sum grows by this batch's
        value, count = metric.get()[1] * (param.nbatch + 1), param.nbatch + 1
        self.losses.append((value - self.seen[0]) / (count - self.seen[1]))
        self.seen = (value, count)
        self.bar.update()
        self.bar.set_postfix(loss=f"{self.losses[-1]:.3f}", refresh=False)


def draw(losses, history, path):
    """Saves the loss by batch and the accuracies by epoch as a plot."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.5))
    width = max(1, len(losses) // 50)
    smooth = np.convolve(losses, np.ones(width) / width, "valid")
    left.plot(losses, alpha=0.3, label="batch")
    left.plot(np.arange(len(smooth)) + width - 1, smooth, label=f"mean of {width}")
    left.set(xlabel="batch", ylabel="cross-entropy", yscale="log")
    for part in history[0]:
        right.plot(range(1, len(history) + 1), [entry[part] for entry in history], marker="o", label=part)
    right.set(xlabel="epoch", ylabel="accuracy")
    right.xaxis.get_major_locator().set_params(integer=True)
    for axis in (left, right):
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def sources(options):
    """Iterators for training and validation, and the number of images to train on."""
    if options.records:
        return data.records(options)
    return data.bars(options) if options.quick else data.fashion_mnist(options)


def optimizer_settings(options, steps):
    """For SGD with momentum; the rate falls to a tenth after 1/2 and 3/4 of `steps`."""
    drops = sorted({max(1, steps // 2), max(2, steps * 3 // 4)})
    schedule = mx.lr_scheduler.MultiFactorScheduler(drops, factor=0.1, base_lr=options.lr)
    return {"lr_scheduler": schedule, "momentum": 0.9, "wd": options.wd}


def train(options):
    """Trains as the options say; returns accuracies by epoch."""
    options.output.mkdir(parents=True, exist_ok=True)
    prefix = options.output / options.network
    training, validation, count = sources(options)
    steps = -(-count // options.batch_size)
    module = mx.mod.Module(
        symbols.create(options.network, options.classes), logger=LOGGER, context=options.context
    )
    metric = mx.metric.create(["acc", "ce"])
    progress, history = Progress(steps), []

    def epoch_done(epoch, symbol, arg_params, aux_params):
        progress.bar.close()
        history.append({"train": dict(metric.get_global_name_value())["accuracy"]})
        mx.model.save_checkpoint(str(prefix), epoch + 1, symbol, arg_params, aux_params)
        if validation is not None:
            history[-1]["validation"] = dict(module.score(validation, "acc"))["accuracy"]
        tqdm.write(
            f"epoch {epoch + 1}: accuracy "
            + ", ".join(f"{value:.4f} in {part}" for part, value in history[-1].items())
        )
        draw(progress.losses, history, f"{prefix}.png")

    module.fit(
        training,
        eval_metric=metric,
        batch_end_callback=progress,
        epoch_end_callback=epoch_done,
        initializer=mx.init.Xavier(rnd_type="gaussian", factor_type="in", magnitude=2),
        optimizer="sgd",
        optimizer_params=optimizer_settings(options, steps * options.epochs),
        num_epoch=options.epochs,
        kvstore=options.kv_store,
    )
    return history


def speed(step, options, what):
    """Calls `step` again and again; images per second after some calls to warm up."""
    for _ in range(2):
        step()
    mx.nd.waitall()
    begin = time.perf_counter()
    for _ in tqdm(range(options.steps), desc=what, unit="batch"):
        step()
        mx.nd.waitall()
    return options.steps * options.batch_size / (time.perf_counter() - begin)


def benchmark(options):
    """Images per second in training and in prediction, on random images that are there already."""
    data_shapes, label_shapes, batch = data.random_batch(options)
    module = mx.mod.Module(symbols.create(options.network, options.classes), context=options.context)
    module.bind(data_shapes, label_shapes)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(
        kvstore=options.kv_store, optimizer_params=optimizer_settings(options, options.steps)
    )

    def training_step():
        module.forward_backward(batch)
        module.update()

    result = {"training": speed(training_step, options, "training")}
    result["prediction"] = speed(lambda: module.forward(batch, is_train=False), options, "prediction")
    for what, value in result.items():
        print(f"{options.network}, batches of {options.batch_size}, {what}: {value:.1f} images/s")
    return result


def parse(arguments=None):
    """The options of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--network", default="resnet20_cifar_v1", help="a name, or 'list' to see all")
    parser.add_argument("--classes", type=int, help="default: those of the data, and 1000 with --benchmark")
    parser.add_argument("--image-size", type=int, help="default: what the network is made for")
    parser.add_argument("--records", type=Path, help="record file to train on, instead of Fashion-MNIST")
    parser.add_argument("--validation-records", type=Path)
    parser.add_argument("--threads", type=int, default=2, help="that decode records")
    parser.add_argument("--data-dir", type=Path, default=Path("/usr/share/datasets/fashion-mnist"))
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=0.1, help="a tenth of it after 1/2 and 3/4 of the epochs")
    parser.add_argument("--wd", type=float, default=1e-4, help="weight decay")
    parser.add_argument("--gpus", help="numbers of GPUs, such as 0,1; default: the CPU")
    parser.add_argument("--kv-store", choices=["local", "device"], default="local")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--benchmark", action="store_true", help="measure instead of training")
    parser.add_argument("--steps", type=int, default=10, help="of the benchmark")
    parser.add_argument("--quick", action="store_true", help="small images of bars, four epochs")
    parser.add_argument("--output", type=Path, default=Path("out/image_classification"))
    options = parser.parse_args(arguments)
    if options.network == "list":
        sys.exit("\n".join(sorted(symbols.NETWORKS)))
    if options.network not in symbols.NETWORKS:
        parser.error(f"no network {options.network!r}; --network list shows all")
    if options.records and options.classes is None:
        parser.error("--records needs --classes")
    if options.quick:
        options.image_size, options.classes = options.image_size or 16, options.classes or 4
        options.epochs, options.lr = 4, 0.02
    options.classes = options.classes or (1000 if options.benchmark else 10)
    options.image_size = options.image_size or symbols.NETWORKS[options.network][0]
    options.context = (
        [mx.gpu(int(number)) for number in options.gpus.split(",")] if options.gpus else mx.cpu()
    )
    return options


def main():
    options = parse()
    mx.random.seed(options.seed)
    np.random.seed(options.seed)
    if options.benchmark:
        benchmark(options)
        return
    history = train(options)
    print(f"accuracy: {list(history[-1].values())[-1]:.4f}")
    print(f"plot of the training: {options.output / options.network}.png")


if __name__ == "__main__":
    main()
