# SPDX-License-Identifier: Apache-2.0
"""A rank that drives others: commands, what is done with damaged ones, and jobs by number."""

import pathlib
import random
import sys

import loomix as mx
import numpy as np
import pytest
from loomix import parallel
from loomix.parallel import Layout, Matrix
from loomix.parallel.commands import Argument, ArrayValue, Command, LayoutValue, read, write
from loomix.parallel.driving import Names, _Skipped, driver
from loomix.parallel.operations import OPERATIONS


def a_command():
    layout = LayoutValue([0, 3, 300], [0, 7], [1, 0], 1, "ränder")
    vector = ArrayValue("float32", [2], np.ones(2, "float32").tobytes())
    arguments = [Argument(matrix=7), Argument(layout=layout), Argument(number=-0.5), Argument(integer=-3)]
    arguments += [Argument(text="x"), Argument(flag=False), Argument(array=vector), Argument()]
    return Command(12, "remap", 2**40, [1, 300], arguments)


def test_commands_are_read_as_written():
    assert read(write(a_command())) == a_command()
    assert (
        read(write(Argument(integer=-(2**63)))) is not None
    )  # another message: its fields are not this one's
    least = Command(1, "sum", 0, [], [Argument(integer=-(2**63)), Argument(integer=2**63 - 1)])
    assert read(write(least)) == least


def test_commands_are_protocol_buffers():
    protoc = pytest.importorskip("google.protobuf.descriptor_pb2")
    from google.protobuf import descriptor_pool, message_factory

    kinds = {"uint64": 4, "double": 1, "sint64": 18, "string": 9, "bool": 8, "bytes": 12}
    file = protoc.FileDescriptorProto(name="commands.proto", package="loomix.parallel", syntax="proto3")
    message = None
    text = (pathlib.Path(__file__).parents[2] / "bindings/python/loomix/parallel/commands.proto").read_text()
    for line in (line.split("//")[0].split() for line in text.splitlines()):
        if line[:1] == ["message"]:
            message = file.message_type.add(name=line[1])
        elif line[:1] == ["oneof"]:
            message.oneof_decl.add(name=line[1])
        elif "=" in line and message is not None:
            repeated = line[0] == "repeated"
            kind, name, _, number = line[1:] if repeated else line
            one = message.field.add(name=name, number=int(number.rstrip(";")), label=3 if repeated else 1)
            if kind in kinds:
                one.type = kinds[kind]
            else:
                one.type, one.type_name = 11, f".loomix.parallel.{kind}"
            if message.oneof_decl:
                one.oneof_index = 0
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = message_factory.GetMessageClass(pool.FindMessageTypeByName("loomix.parallel.Command"))()
    found.ParseFromString(write(a_command()))
    assert (found.number, found.operation, found.result) == (12, "remap", 2**40)
    assert list(found.forgotten) == [1, 300] and found.arguments[0].matrix == 7
    assert list(found.arguments[1].layout.row_cuts) == [0, 3, 300]
    assert found.arguments[1].layout.name == "ränder"
    assert [found.arguments[i].WhichOneof("value") for i in (2, 3, 5, 6, 7)] == [
        "number",
        "integer",
        "flag",
        "array",
        None,
    ]
    assert read(found.SerializeToString()) == a_command()


def test_bytes_that_are_no_command_are_refused():
    chance = random.Random(3)
    whole = write(a_command())
    for _ in range(3000):
        damaged = bytearray(whole[: chance.randrange(len(whole) + 1)])
        for _ in range(chance.randrange(1, 4)):
            if damaged:
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            read(bytes(damaged))
        except ValueError as error:
            assert "[driver] a command of" in str(error)
    with pytest.raises(ValueError, match="70 bits|64 bits"):
        read(b"\x08" + b"\xff" * 12)


def layout_argument(rows=4):
    return Argument(layout=LayoutValue([0, rows], [0, 2], [0], 1, "rows"))


@pytest.mark.parametrize(
    "command, words",
    [
        (Command(1, "__import__", 1), "there is no operation '__import__'"),
        (Command(1, "norm", 1), "norm has 0 arguments; expected 1"),
        (Command(1, "norm", 1, [], [Argument(matrix=9)]), "there is no matrix 9"),
        (Command(1, "norm", 1, [], [Argument(text="a")]), "expected matrix"),
        (Command(1, "norm", 1, [], [Argument()]), "an argument is missing"),
        (Command(1, "full", 1, [], [layout_argument(), Argument(text="float32")]), "has 2 arguments"),
        (
            Command(1, "full", 1, [], [layout_argument(), Argument(text="int8"), Argument(number=1)]),
            "type int8",
        ),
        (
            Command(
                1, "full", 1, [], [layout_argument(-1 % 2**64), Argument(text="float32"), Argument(number=1)]
            ),
            ".",
        ),
    ],
)
def test_commands_that_fit_nothing_are_refused(command, words):
    parallel.size()
    with pytest.raises((ValueError, TypeError), match=words):
        Names().run(command)


def test_one_rank_drives_itself():
    with driver():
        a = Matrix.random((6, 4), "rows", seed=3)
        b = (a.dot(a, transpose_b=True) * 2 - a.remap("columns").dot(a.T)).to_global().asnumpy()
        with pytest.raises(RuntimeError, match="in a driver's body already"), driver():
            pass
        with pytest.raises(RuntimeError, match="expected from_global"):
            Matrix.from_local([], Layout.rows((4, 4)))
        with pytest.raises(ValueError, match="4 columns meet 6 rows"):
            a.dot(a)
    x = a.layout.shape
    assert x == (6, 4) and b.shape == (6, 6)
    with pytest.raises(RuntimeError, match="its driver has ended"):
        a.norm()
    outside = Matrix.full((2, 2), 1, "rows")
    with driver(), pytest.raises(ValueError, match="not made in this body"):
        outside.norm()


class Skips:
    """As driver() on another rank: the body does not run."""

    __exit__ = driver.__exit__
    _trace = None

    def __enter__(self):
        driver._skip_body(self, sys._getframe(1))
        return self


def test_a_body_is_left_out(monkeypatch):
    parallel.size()
    monkeypatch.setattr(parallel.driving._parallel, "rank", lambda: 1)
    ran = []
    with Skips():
        ran.append(1)
    with Skips() as named: ran.append(named)  # fmt: skip  # noqa: E701

    def within():
        for _ in range(2):
            with Skips():
                ran.append(2)
                return 1
        return 2

    assert within() == 2 and ran == [] and sys.gettrace() is None
    with pytest.raises(_Skipped):
        raise _Skipped


def test_seeds_depend_on_the_number_alone():
    draw = lambda job: (job, mx.nd.random.uniform(shape=(2,)).asnumpy().tolist())
    mx.random.seed(4)
    first = parallel.map(draw, range(5), by="here")
    assert [job for job, _ in first] == list(range(5))
    assert len({str(numbers) for _, numbers in first}) == 5
    mx.random.seed(4)
    assert parallel.map(draw, range(5), by="here") == first
    assert parallel.map(draw, range(5), by="here") != first
    mx.random.seed(4)
    assert parallel.map(draw, range(3)) == first[:3]
    with pytest.raises(ValueError, match="expected one of mpi, ray, dask, here"):
        parallel.map(draw, [], by="threads")


def test_a_matrix_takes_its_seed_from_the_generator():
    mx.random.seed(9)
    first = [Matrix.random((3, 3), "rows", seed=None).to_global().asnumpy() for _ in range(2)]
    mx.random.seed(9)
    again = [Matrix.random((3, 3), "rows", seed=None).to_global().asnumpy() for _ in range(2)]
    assert np.array_equal(first, again) and not np.array_equal(first[0], first[1])


def test_all_operations_say_what_they_take():
    known = {"matrix", "layout", "type", "number", "integer", "text", "flag", "array", "own array"}
    for name, operation in OPERATIONS.items():
        assert {kind.rstrip("?") for kind in operation.takes} <= known, name
