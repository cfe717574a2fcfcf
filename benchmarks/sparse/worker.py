# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays: products with a csr matrix, an embedding of 10^6 rows with sparse updates, a factorisation machine."""

from functools import partial

import numpy as np
from harness import serve

ROWS, WIDTH = 1_000_000, 16
BATCH, PER_SAMPLE = 1000, 40


def _parts():
    """Values, columns and row starts of a matrix of BATCH rows with PER_SAMPLE values each."""
    random = np.random.RandomState(0)
    columns = np.sort(random.randint(0, ROWS // PER_SAMPLE, (BATCH, PER_SAMPLE)), axis=1)
    columns += np.arange(PER_SAMPLE) * (ROWS // PER_SAMPLE)  # no column twice
    values = random.uniform(size=columns.size).astype(np.float32)
    return values, columns.ravel(), np.arange(0, columns.size + 1, PER_SAMPLE)


def _csr(mx):
    return mx.nd.sparse.csr_matrix(_parts(), shape=(BATCH, ROWS))


def _product(name, transpose):
    mx = __import__(name)
    left = _csr(mx)
    right = mx.nd.random.uniform(shape=(BATCH if transpose else ROWS, WIDTH))

    def run(count):
        for _ in range(count):
            mx.nd.sparse.dot(left, right, transpose_a=transpose).wait_to_read()

    return run


def _torch_product(transpose):
    import torch

    values, columns, starts = (torch.from_numpy(part) for part in _parts())
    left = torch.sparse_csr_tensor(starts, columns, values, (BATCH, ROWS))
    if transpose:
        left = left.to_sparse_coo().t().coalesce()
    right = torch.rand((BATCH if transpose else ROWS, WIDTH))

    def run(count):
        for _ in range(count):
            left @ right

    return run


def _embedding(name):
    mx = __import__(name)
    weight = mx.nd.random.uniform(shape=(ROWS, WIDTH))
    weight.attach_grad(stype="row_sparse")
    ids = mx.nd.array(np.random.RandomState(0).randint(0, ROWS, 1000))

    def run(count):
        for _ in range(count):
            with mx.autograd.record():
                out = mx.nd.Embedding(ids, weight, input_dim=ROWS, output_dim=WIDTH, sparse_grad=True)
            out.backward()
            mx.nd.sgd_update(weight, weight.grad, lr=0.01, out=weight, lazy_update=True)
            mx.nd.waitall()

    return run


def _torch_embedding():
    import torch

    layer = torch.nn.Embedding(ROWS, WIDTH, sparse=True)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
    ids = torch.from_numpy(np.random.RandomState(0).randint(0, ROWS, 1000))

    def run(count):
        for _ in range(count):
            optimizer.zero_grad()
            layer(ids).sum().backward()
            optimizer.step()

    return run


def _machine(name):
    """A step of a factorisation machine by Module: rows pulled from a store, which runs Adam."""
    mx = __import__(name)
    sym = mx.sym
    x = sym.Variable("data", stype="csr")
    weight = sym.Variable("weight", shape=(ROWS, 1), stype="row_sparse", init=mx.init.Normal(0.01))
    bias = sym.Variable("bias", shape=(1,), init=mx.init.Zero())
    v = sym.Variable("v", shape=(ROWS, WIDTH), stype="row_sparse", init=mx.init.Normal(0.01))
    squares = sym.dot(sym.square(x), sym._internal._square_sum(v, axis=1, keepdims=True))
    pairs = sym.sum(sym.square(sym.dot(x, v)), axis=1, keepdims=True)
    score = sym.broadcast_add(sym.dot(x, weight), bias) + 0.5 * (pairs - squares)
    net = sym.LogisticRegressionOutput(score, sym.Variable("label"), name="score")
    module = mx.mod.Module(net, label_names=["label"])
    module.bind([("data", (BATCH, ROWS))], [("label", (BATCH,))])
    module.init_params()
    settings = {"learning_rate": 0.001, "rescale_grad": 1 / BATCH, "lazy_update": True}
    module.init_optimizer(kvstore=mx.kv.create("local"), optimizer="adam", optimizer_params=settings)
    labels = mx.nd.array(np.random.RandomState(1).randint(0, 2, BATCH))
    batch = mx.io.DataBatch([_csr(mx)], [labels])

    def rows_of(batch):
        return dict.fromkeys(("weight", "v"), batch.data[0].indices)

    def run(count):
        for _ in range(count):
            module.prepare(batch, sparse_row_id_fn=rows_of)
            module.forward_backward(batch)
            module.update()
            mx.nd.waitall()

    return run


def _both(make, *settings):
    return {name: partial(make, name, *settings) for name in ("loomix", "mxnet")}


CASES = {
    "csr_dense": {**_both(_product, False), "torch": partial(_torch_product, False)},
    "csr_transposed_dense": {**_both(_product, True), "torch": partial(_torch_product, True)},
    "embedding_update": {**_both(_embedding), "torch": _torch_embedding},
    "factorisation_machine": _both(_machine),
}

if __name__ == "__main__":
    serve(CASES)
