# SPDX-License-Identifier: Apache-2.0
"""Recurrent layers: forward and backward of a stack with all gradients, forward alone, a step of a language model, and
Gluon's LSTMCell step by step. `own` is Loomix without oneDNN."""

import os
from functools import partial

from harness import serve

BATCH, STEPS, WORDS = 20, 35, 10_000


def _stack(name, mode, hidden, layers, bidirectional, train, dnnl=True):
    if name == "loomix":
        os.environ["LOOMIX_DNNL"] = "1" if dnnl else "0"
    mx = __import__(name)
    symbol = mx.sym.RNN(
        mx.sym.Variable("data"),
        state_size=hidden,
        num_layers=layers,
        bidirectional=bidirectional,
        mode=mode,
        name="rnn",
    )
    bound = symbol.simple_bind(mx.cpu(), data=(STEPS, BATCH, hidden), grad_req="write" if train else "null")
    mx.random.seed(1)
    for array in bound.arg_arrays:
        array[:] = mx.nd.random.uniform(-0.1, 0.1, shape=array.shape)
    head = mx.nd.random.uniform(-1, 1, shape=bound.outputs[0].shape)

    def run(count):
        for _ in range(count):
            bound.forward(is_train=train)
            if train:
                bound.backward([head])
            mx.nd.waitall()

    return run


def _torch_stack(mode, hidden, layers, bidirectional, train):
    import torch

    make = {"lstm": torch.nn.LSTM, "gru": torch.nn.GRU, "rnn_tanh": torch.nn.RNN}[mode]
    net = make(hidden, hidden, layers, bidirectional=bidirectional)
    data = torch.rand((STEPS, BATCH, hidden), requires_grad=train)
    head = torch.rand((STEPS, BATCH, hidden * (2 if bidirectional else 1)))

    def run(count):
        for _ in range(count):
            if train:
                data.grad = None
                net.zero_grad(set_to_none=True)
                net(data)[0].backward(head)
            else:
                with torch.no_grad():
                    net(data)

    return run


def _cases(mode, hidden=200, layers=2, bidirectional=False, train=True):
    settings = (mode, hidden, layers, bidirectional, train)
    return {
        "loomix": partial(_stack, "loomix", *settings),
        "own": partial(_stack, "loomix", *settings, dnnl=False),
        "mxnet": partial(_stack, "mxnet", *settings),
        "torch": partial(_torch_stack, *settings),
    }


def _language_model(name, hidden):
    mx = __import__(name)
    cell = mx.rnn.FusedRNNCell(hidden, num_layers=2, mode="lstm", prefix="lstm_")
    embedded = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=WORDS, output_dim=hidden, name="embed")
    outputs, _ = cell.unroll(STEPS, embedded, layout="TNC", merge_outputs=True)
    scores = mx.sym.FullyConnected(mx.sym.reshape(outputs, (-1, hidden)), num_hidden=WORDS, name="scores")
    net = mx.sym.SoftmaxOutput(
        scores, mx.sym.reshape(mx.sym.Variable("softmax_label"), (-1,)), name="softmax"
    )
    module = mx.mod.Module(net, context=mx.cpu())
    module.bind([("data", (STEPS, BATCH))], [("softmax_label", (STEPS, BATCH))])
    mx.random.seed(1)
    module.init_params(mx.init.Uniform(0.1))
    module.init_optimizer(kvstore=None, optimizer="sgd", optimizer_params={"learning_rate": 0.1})
    tokens = mx.nd.array([[(7 * t + 31 * n) % WORDS for n in range(BATCH)] for t in range(STEPS)])
    batch = mx.io.DataBatch([tokens], [tokens])

    def run(count):
        for _ in range(count):
            module.forward_backward(batch)
            module.update()
            mx.nd.waitall()

    return run


def _torch_language_model(hidden):
    import torch

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = torch.nn.Embedding(WORDS, hidden)
            self.lstm = torch.nn.LSTM(hidden, hidden, 2)
            self.scores = torch.nn.Linear(hidden, WORDS)

        def forward(self, tokens):
            return self.scores(self.lstm(self.embed(tokens))[0].reshape(-1, hidden))

    net, loss = Net(), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    tokens = torch.tensor([[(7 * t + 31 * n) % WORDS for n in range(BATCH)] for t in range(STEPS)])

    def run(count):
        for _ in range(count):
            optimizer.zero_grad(set_to_none=True)
            loss(net(tokens), tokens.reshape(-1)).backward()
            optimizer.step()

    return run


def _cell_loop(name, hidden):
    mx = __import__(name)
    cell = mx.gluon.rnn.LSTMCell(hidden, input_size=hidden)
    cell.initialize(mx.init.Uniform(0.1))
    steps = [mx.nd.random.uniform(-1, 1, shape=(BATCH, hidden)) for _ in range(STEPS)]
    head = mx.nd.random.uniform(-1, 1, shape=(BATCH, hidden))

    def run(count):
        for _ in range(count):
            states = cell.begin_state(BATCH)
            outputs = []
            with mx.autograd.record():
                for step in steps:
                    output, states = cell(step, states)
                    outputs.append(output)
            mx.autograd.backward(outputs, [head] * STEPS)
            mx.nd.waitall()

    return run


def _torch_cell_loop(hidden):
    import torch

    cell = torch.nn.LSTMCell(hidden, hidden)
    steps = [torch.rand((BATCH, hidden)) for _ in range(STEPS)]
    head = torch.rand((BATCH, hidden))

    def run(count):
        for _ in range(count):
            states = (torch.zeros((BATCH, hidden)), torch.zeros((BATCH, hidden)))
            outputs = []
            for step in steps:
                states = cell(step, states)
                outputs.append(states[0])
            cell.zero_grad(set_to_none=True)
            torch.autograd.backward(outputs, [head] * STEPS)

    return run


def _model_cases(hidden):
    return {
        "loomix": partial(_language_model, "loomix", hidden),
        "mxnet": partial(_language_model, "mxnet", hidden),
        "torch": partial(_torch_language_model, hidden),
    }


CASES = {
    "lstm": _cases("lstm"),
    "lstm_650": _cases("lstm", hidden=650),
    "lstm_both_ways": _cases("lstm", bidirectional=True),
    "gru": _cases("gru"),
    "lstm_forward": _cases("lstm", train=False),
    "language_model": _model_cases(200),
    "cell_loop": {
        "loomix": partial(_cell_loop, "loomix", 200),
        "mxnet": partial(_cell_loop, "mxnet", 200),
        "torch": partial(_torch_cell_loop, 200),
    },
}

if __name__ == "__main__":
    serve(CASES)
