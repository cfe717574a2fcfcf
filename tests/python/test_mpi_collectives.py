# SPDX-License-Identifier: Apache-2.0
"""Collective operators on processes that mpirun started, on arrays and symbols, with gradients."""

import pytest
from test_mpi_kvstore import no_mpi as no_mpi  # a fixture
from test_mpi_kvstore import with_mpi as run

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("cluster")]


@pytest.fixture(autouse=True)
def needs_mpi(no_mpi):
    if no_mpi:
        pytest.skip(no_mpi)


PROGRAM = """
import loomix as mx, numpy as np
from loomix import parallel
rank, size = parallel.rank(), parallel.size()
axis = parallel.Mesh(model=size).axis("model")
whole = np.arange(30, dtype="float32").reshape(5, 6)
cuts = [0] + list(np.cumsum([5 // size + (i < 5 % size) for i in range(size)]))
part = whole[cuts[rank]:cuts[rank + 1]]

def check(call, data, head, out, grad):
    x = mx.nd.array(data)
    x.attach_grad()
    with mx.autograd.record():
        y = call(x)
    y.backward(mx.nd.array(head))
    assert (y.asnumpy() == out).all() and (x.grad.asnumpy() == grad).all(), (y, x.grad)
    net = call(mx.sym.var("x")).bind(mx.cpu(), {"x": mx.nd.array(data)}, {"x": mx.nd.zeros(data.shape)})
    assert (net.forward(is_train=True)[0].asnumpy() == out).all()
    net.backward(mx.nd.array(head))
    assert (net.grad_arrays[0].asnumpy() == grad).all()

sum_of = lambda a: sum(a * (i + 1) for i in range(size))
mine = whole * (rank + 1)
check(lambda x: parallel.gather(x, axis, whole=5), part, mine, whole, sum_of(whole)[cuts[rank]:cuts[rank + 1]])
check(lambda x: parallel.gather(x, axis, whole=5, partial_gradient=False), part, whole, whole, part)
check(lambda x: parallel.own(x, axis, whole=5), whole, part, part, whole)
check(lambda x: parallel.reduce_scatter(x, axis, whole=5), mine, part, sum_of(whole)[cuts[rank]:cuts[rank + 1]], whole)
check(lambda x: parallel.all_reduce(x, axis), mine, mine, sum_of(whole), sum_of(whole))
check(lambda x: parallel.all_reduce(x, axis, partial_gradient=False), mine, whole, sum_of(whole), whole)
check(lambda x: parallel.share(x, axis), whole, mine, whole, sum_of(whole))
columns = whole[:, [i for i in range(6) if i * size // 6 == rank]] if 6 % size == 0 else None
if columns is not None:
    check(lambda x: parallel.all_to_all(x, axis, whole=5), part, columns, columns, part)
print("good")
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_operators_and_their_gradients(ranks):
    done = run(PROGRAM, "-n", str(ranks))
    assert done.returncode == 0 and done.stdout.count("good") == ranks, done.stdout + done.stderr


def test_an_error_on_one_rank_ends_the_others():
    program = """
import loomix as mx
from loomix import parallel
rank = parallel.rank()
axis = parallel.Mesh(model=2).axis("model")
x = mx.nd.ones((3,))
if rank == 1:
    class Fails(mx.operator.CustomOp):
        def forward(self, is_train, req, in_data, out_data, aux):
            raise ValueError("the mistake of rank 1")
    @mx.operator.register("fails_here")
    class FailsProp(mx.operator.CustomOpProp):
        def create_operator(self, ctx, shapes, dtypes):
            return Fails()
    x = mx.nd.Custom(x, op_type="fails_here")
try:
    parallel.all_reduce(x, axis).asnumpy()
except Exception as error:
    print(f"rank {rank}:", str(error).replace(chr(10), " "), flush=True)
"""
    done = run(program, "-n", "2")
    told = [line for line in done.stdout.splitlines() if "rank 1" in line]
    assert len(told) == 2 and "the mistake of rank 1" in done.stdout, done.stdout + done.stderr
