# SPDX-License-Identifier: Apache-2.0
"""What one operator costs when it is called from Python on almost no data."""

from functools import partial

from harness import serve


def _mx(name, case):
    mx = __import__(name)
    a, b = mx.nd.ones(2), mx.nd.ones(2)
    data, weight, bias = mx.nd.ones((2, 4)), mx.nd.ones((3, 4)), mx.nd.ones(3)

    def add_pushed(count):
        for _ in range(count):
            a + b
        mx.nd.waitall()

    def multiply_constant(count):
        for _ in range(count):
            a * 1.5
        mx.nd.waitall()

    def multiply_changing(count):  # a number that never came before
        for i in range(count):
            a * (1.5 + i * 1e-7)
        mx.nd.waitall()

    def add_waited(count):
        for _ in range(count):
            (a + b).wait_to_read()

    def add_recorded(count):
        a.attach_grad()
        left = count
        while left > 0:  # a tape of bounded length
            with mx.autograd.record():
                for _ in range(min(left, 100)):
                    a + b
            left -= 100
        mx.nd.waitall()

    def fully_connected(count):
        for _ in range(count):
            mx.nd.FullyConnected(data, weight, bias, num_hidden=3)
        mx.nd.waitall()

    def forward_backward_100(count):
        a.attach_grad()
        for _ in range(count):
            with mx.autograd.record():
                x = a
                for _ in range(100):
                    x = x + b
            x.backward()
        mx.nd.waitall()

    def asscalar(count):
        one = mx.nd.ones(1)
        for _ in range(count):
            one.asscalar()

    return locals()[case]


def _torch(case):
    import torch

    torch.set_num_threads(2)
    a, b = torch.ones(2), torch.ones(2)
    data, weight, bias = torch.ones(2, 4), torch.ones(3, 4), torch.ones(3)

    def add_pushed(count):
        for _ in range(count):
            a + b

    add_waited = add_pushed

    def multiply_constant(count):
        for _ in range(count):
            a * 1.5

    def multiply_changing(count):
        for i in range(count):
            a * (1.5 + i * 1e-7)

    def add_recorded(count):
        a.requires_grad_()
        for _ in range(count):
            a + b

    def fully_connected(count):
        linear = torch.nn.functional.linear
        for _ in range(count):
            linear(data, weight, bias)

    def forward_backward_100(count):
        a.requires_grad_()
        for _ in range(count):
            x = a
            for _ in range(100):
                x = x + b
            x.sum().backward()

    def asscalar(count):
        one = torch.ones(1)
        for _ in range(count):
            one.item()

    return locals()[case]


CASES = {
    case: {
        "loomix": partial(_mx, "loomix", case),
        "mxnet": partial(_mx, "mxnet", case),
        "torch": partial(_torch, case),
    }
    for case in (
        "add_pushed",
        "add_waited",
        "add_recorded",
        "multiply_constant",
        "multiply_changing",
        "fully_connected",
        "forward_backward_100",
        "asscalar",
    )
}

if __name__ == "__main__":
    serve(CASES)
