#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""GluonCV's networks without trained weights: eager = hybridized = MXNet's output, with the same parameters?

    PYTHONPATH=GLUONCV python tests/compat/live_zoo.py FOLDER LOOMIX/bin/python MXNET/bin/python [NAME ...]

GLUONCV is a folder with GluonCV 0.10; for the environments see live_clients.py. Without names, all networks are
compared. Of detectors and segmenters, the parameters after one training step are compared, too. Quantized networks
are left out, as they do not exist without trained weights.

Prints a line a network: differences in proportion to the largest value; returns 1 if one is above TOLERANCE.
"""

import argparse
import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TOLERANCE = 2e-3  # float32 through up to 300 layers with random weights
DETECTORS = ("ssd_", "yolo3_", "faster_rcnn", "mask_rcnn", "center_net")
RCNN = ("faster_rcnn", "mask_rcnn", "custom_faster_rcnn", "custom_mask_rcnn")
SEGMENTERS = ("fcn_", "psp_", "deeplab_", "icnet_", "fastscnn_", "danet_")
SEGMENTERS += ("hrnet_w18_small_v1_s", "hrnet_w18_small_v2_s", "hrnet_w48_s")
# With random weights their gates turn rounding into differences as large as the values, on MXNet as here: in float32
# each of five ways to compute senet_154 is 0.6 away from float64.
DOUBLE = ("senet_154", "se_res", "resnest")
# Smaller weights keep gates open where float64 does not help, because MXNet computes the places of what is resized in
# float32, and boxes finite and scores below 1.
SMALLER = ("residualattentionnet", "cifar_residualattentionnet")
SMALLER += ("ssd_512_resnet101_v2", "ssd_512_resnet152_v2", "ssd_512_vgg16")
VIDEOS = ("c3d", "p3d", "r2plus1d", "i3d", "slowfast")
VIDEO_DATA = ("_kinetics400", "_kinetics700", "_sthsthv2", "_ucf101", "_hmdb51", "_v1b_custom", "_v1_custom")


def settings(name):
    """What a network is made with, and the shape of its input."""
    options = {"pretrained": False}
    if "custom" in name:
        options["classes"] = ["a", "b"]
    if (name.startswith(DETECTORS + SEGMENTERS) or "_pose" in name) and not name.startswith("hrnet"):
        options["pretrained_base"] = False
    if name.startswith(("i3d", "p3d")):
        options["pretrained_base"] = False
    if name.startswith("cifar"):
        return options, (1, 3, 32, 32)
    if name.startswith("slowfast"):
        frames = {"4x16": 36, "8x8": 40, "16x8": 64 + 16}
        return options, (1, 3, next(n for key, n in frames.items() if key in name), 64, 64)
    if name.startswith(VIDEOS):
        size = 112 if name.startswith(("c3d", "r2plus1d")) else 224 if name.startswith("i3d_incep") else 64
        return options, (1, 3, 16 if name.startswith("c3d") else 32 if "i3d" in name else 16, size, size)
    if name.startswith("ssd_"):
        size = 300 if "ssd_300" in name else 512 if "vgg16" in name else 256
        return options, (1, 3, size, size)
    if name.startswith(("yolo3_", "center_net")):
        return options, (1, 3, 128, 128)
    if name.startswith(RCNN):  # without pyramids of features, 2,000 proposals need a larger image
        return options, (1, 3, 128, 160) if "fpn" in name else (1, 3, 256, 320)
    if name.startswith("deeplab_resnest"):  # does not pool for the size that it is told
        return {**options, "crop_size": 224}, (1, 3, 224, 224)
    if name.startswith(SEGMENTERS):
        return options if name.startswith("hrnet") else {**options, "crop_size": 128}, (1, 3, 128, 128)
    if "_pose" in name:
        return options, (1, 3, 128, 96)
    if "monodepth2" in name:
        return {**options, "pretrained_base": False}, (1, 3, 192, 640)
    if name.startswith(("inception", "xception", "googlenet", "nasnet")):
        return options, (1, 3, 299, 299)
    return options, (1, 3, 224, 224)


def leaves(value):
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return [] if value is None else [value]


def numbers(value):
    return [leaf.asnumpy() for leaf in leaves(value)]


def load_nothing():
    """Networks for videos read files of weights that no one asked for. They get parameters without values."""
    import mxnet as mx

    mx.gluon.Block.load_parameters = lambda block, file, ctx=None, **_: block.initialize(
        mx.init.Zero(), ctx=ctx
    )
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("gluoncv") and hasattr(module, "get_model_file"):
            module.get_model_file = lambda *_, **__: None


def made(name):
    """The network with parameters that do not depend on the framework, and its inputs."""
    import gluoncv
    import mxnet as mx

    options, shape = settings(name)
    if name.endswith(VIDEO_DATA):
        load_nothing()
    net = gluoncv.model_zoo.get_model(name, **options)
    net.initialize(mx.init.Zero())
    random = np.random.RandomState(0)
    inputs = [mx.nd.array(random.uniform(-1, 1, shape))]
    if name.startswith("siamrpn"):
        inputs = [mx.nd.array(random.uniform(-1, 1, (1, 3, size, size))) for size in (127, 287)]
    if "posenet" in name:
        inputs = [mx.nd.array(random.uniform(-1, 1, (1, 6, 192, 640)))]
    net(*inputs)
    return net, inputs


def fill(name, net):
    """Gives parameters values that follow from their places and shapes."""
    import mxnet as mx

    for key, param in net._collect_params_with_prefix().items():
        if param._data is None:
            continue
        random = np.random.RandomState(zlib.crc32(f"{key} {param.shape}".encode()))
        ending = key.rpartition(".")[2]
        if ending.endswith("gamma") and param.grad_req == "null":  # MXNet writes ones there when it runs
            value = np.ones(param.shape)
        elif ending.endswith(("_var", "gamma")):  # variances below 0 would make everything NaN
            value = random.uniform(0.8, 1.2, param.shape)
        elif len(param.shape) < 2:
            value = random.uniform(-0.1, 0.1, param.shape)
        else:
            value = random.normal(0, (2 / max(np.prod(param.shape[1:]), 1)) ** 0.5, param.shape)
        if "predictor" in key or key.startswith(
            "heads."
        ):  # sizes are exponentials, and scores of 1 would be equal
            value /= 10
        if name.startswith(SMALLER) and len(param.shape) > 1:
            value /= 4
        if (
            not param.name.endswith(("anchor_", "anchors", "offset", "offsets"))
            and type(param).__name__ == "Parameter"
        ):
            param.set_data(mx.nd.array(value, dtype=param.dtype))


def training_inputs(name, inputs):
    """What a detector takes in training, beside the images."""
    import mxnet as mx

    if not name.startswith(RCNN):
        return inputs
    boxes = mx.nd.array([[[10, 10, 60, 60], [40, 30, 120, 100]]])
    return [*inputs, boxes, mx.nd.array([[[0], [1]]])]


def stable_argsort(data, axis=-1, is_ascend=True, dtype="float32"):
    """Keeps equal keys in their order, as MXNet's does not from 17 elements on; R-CNNs draw proposals by it."""
    import mxnet as mx

    keys = data.asnumpy() if is_ascend else -data.asnumpy()
    return mx.nd.array(np.argsort(keys, axis=axis, kind="stable"), dtype=dtype)


def train(name, net, inputs):
    """Gradients' sizes and parameters after a step with a loss of all outputs that have gradients."""
    import mxnet as mx

    trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    drawn = np.random.RandomState(3)  # proposals are, and each framework draws its own numbers
    mx.nd.random.uniform = lambda low, high, shape, **_: mx.nd.array(drawn.uniform(low, high, shape))
    mx.nd.argsort = stable_argsort
    images = training_inputs(name, inputs)
    # What is dropped out is not the same in the two frameworks.
    net.apply(lambda block: setattr(block, "_rate", 0) if type(block).__name__ == "Dropout" else None)
    with mx.autograd.record():
        outs = leaves(list(_features(net, images[0])) if name.startswith("yolo3_") else net(*images))
        floats = [out for out in outs if np.dtype(out.dtype).kind == "f"]
        loss = sum((mx.nd.tanh(out / 10) ** 2).mean() for out in floats)
    loss.backward()
    trainer.step(1, ignore_stale_grad=True)
    params = net._collect_params_with_prefix()
    some = {key: param for key, param in params.items() if param._data is not None}
    return [loss.asnumpy(), *(param.data().asnumpy() for _, param in sorted(some.items()))]


def _features(net, x):
    """What the stages of YOLO's backbone give; the losses of its heads need targets that a data set computes."""
    for stage in net.stages:
        x = stage(x)
        yield x


def compute(name, path, has_training):
    net, inputs = made(name)
    fill(name, net)
    if name.startswith(DOUBLE):
        net.cast("float64")
        inputs = [x.astype("float64") for x in inputs]
    results = {"eager": numbers(net(*inputs))}
    if has_training:
        results["trained"] = train(name, net, inputs)
        fill(name, net)
    net.hybridize()
    results["hybridized"] = numbers(net(*inputs))
    flat = {f"{how}-{i:04d}": array for how, arrays in results.items() for i, array in enumerate(arrays)}
    np.savez(path, **flat)


def difference(ours, theirs, part=1.0):
    """The largest difference of arrays, in proportion to the largest value; infinite where shapes differ. `part` of the
    elements counts, those that differ least."""
    if ours.shape != theirs.shape:
        return np.inf
    if ours.size == 0:
        return 0.0
    with np.errstate(invalid="ignore"):
        distance = np.abs(ours.astype("float64") - theirs.astype("float64"))
    both = np.isnan(ours) & np.isnan(theirs)
    return float(
        np.quantile(np.where(both, 0, distance), part) / max(np.nanmax(np.abs(theirs), initial=0), 1e-6)
    )


def unordered(found):
    """What does not depend on the order of boxes, which rounding decides where scores are equal: the shares
    of classes' numbers in all, or the values in order."""
    if found.shape[-1] == 1 and np.array_equal(found, np.round(found)):
        return np.append(np.bincount(found.astype(int).ravel() + 1), found.size) / found.size
    return np.sort(found, axis=1)


def run(python, name, path, which, has_training):
    alias = "import as_mxnet; " if which == "loomix" else ""
    code = f"import sys; sys.path.insert(0, {str(HERE)!r}); {alias}import live_zoo; "
    code += f"live_zoo.compute({name!r}, {str(path)!r}, {has_training})"
    environment = {
        **os.environ,
        "MPLBACKEND": "agg",
        "MXNET_SUBGRAPH_BACKEND": "NONE",
        "MXNET_CUDNN_AUTOTUNE_DEFAULT": "0",
    }
    if name.startswith(VIDEOS):  # MXNet's own use of oneDNN fails for convolutions of three axes
        environment["MXNET_MKLDNN_ENABLED"] = "0"
    done = subprocess.run(
        [python, "-W", "ignore", "-c", code], env=environment, capture_output=True, text=True
    )
    return None if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2][:200]


def names_of(python):
    code = "import gluoncv; print(' '.join(gluoncv.model_zoo.get_model_list()))"
    out = subprocess.run(
        [python, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    ).stdout
    return [name for name in out.splitlines()[-1].split() if "int8" not in name]


def compare(name, options):
    """A line about a network, and whether it is as it should be."""
    has_training = name.startswith(DETECTORS + SEGMENTERS)
    files = {which: options.folder / f"{name}-{which}.npz" for which in ("mxnet", "loomix")}
    if not files["mxnet"].exists():
        error = run(options.mxnet, name, files["mxnet"], "mxnet", has_training)
        if error:
            return f"{name}: not on MXNet either: {error}", True
    error = run(options.loomix, name, files["loomix"], "loomix", has_training)
    if error:
        return f"{name}: FAILS: {error}", False
    theirs, ours = (dict(np.load(files[which])) for which in ("mxnet", "loomix"))
    if set(theirs) != set(ours):
        return f"{name}: FAILS: {len(ours)} arrays, {len(theirs)} on MXNet", False
    worst = {}
    for key, array in theirs.items():
        how = key.partition("-")[0]
        has_boxes = name.startswith(DETECTORS) and how != "trained"
        part = 0.99 if name.startswith(RCNN) else 1.0  # rounding decides which proposals are kept, too
        # MXNet's own two ways may differ; ours need not differ as they do.
        references = [array, theirs[key.replace(how, "eager")]] if how == "hybridized" else [array]
        found = min(
            difference(unordered(ours[key]), unordered(reference), part)
            if has_boxes
            else difference(ours[key], reference)
            for reference in references
        )
        worst[how] = max(worst.get(how, 0), found)
    # R-CNNs train on proposals that are drawn by their places in a list, which rounding changes.
    bounds = {"trained": 0.2} if name.startswith(RCNN) else {}
    right = all(value <= bounds.get(how, TOLERANCE) for how, value in worst.items())
    if right:  # the arrays of all networks would be tens of gigabytes
        for path in files.values():
            path.unlink()
    figures = ", ".join(f"{how} {value:.1e}" for how, value in worst.items())
    return f"{name}: {'' if right else 'DIFFERS: '}{figures}", right


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("loomix")
    parser.add_argument("mxnet")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    bad = 0
    for name in options.names or names_of(options.mxnet):
        line, right = compare(name, options)
        print(line, flush=True)
        bad += not right
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
