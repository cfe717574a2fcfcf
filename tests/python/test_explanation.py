# SPDX-License-Identifier: Apache-2.0
"""What explain says: as data, as text, as a picture, and from the command line."""

import dataclasses
import json
import xml.etree.ElementTree as ElementTree

import loomix as mx
import numpy as np
import pytest
from loomix.__main__ import main
from loomix._explanation_text import alive, taken_over

SVG = "{http://www.w3.org/2000/svg}"


def convolutions(filters=16):
    """Three convolutions with normalisation, and a branch."""
    net = mx.sym.Variable("data")
    for i in range(3):
        net = mx.sym.Convolution(
            net, num_filter=filters, kernel=(3, 3), pad=(1, 1), no_bias=True, name=f"conv{i}"
        )
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"bn{i}")
        net = mx.sym.Activation(net, act_type="relu", name=f"relu{i}")
        if i == 1:
            branch = net
    net = mx.sym.Pooling(net + branch, pool_type="max", kernel=(2, 2), stride=(2, 2), name="pool")
    net = mx.sym.FullyConnected(mx.sym.Flatten(net, name="flat"), num_hidden=10, name="fc")
    return mx.sym.SoftmaxOutput(net, name="softmax")


SHAPE = (4, 3, 16, 16)
FORWARD = 2 * 4 * (16 * 16 * 16 * 9 * (3 + 16 + 16) + 16 * 8 * 8 * 10)  # FLOPs
FIRST = 2 * 4 * 16 * 16 * 16 * 9 * 3  # of the first convolution


def of_pass(explanation, name):
    return next(one for one in explanation.passes if one.name == name)


def counted(operators):
    return {one.op: one.count for one in operators}


def check_plan(explanation):
    """Values that are alive together do not overlap, and the sums are those of the values."""
    taken = taken_over(explanation)
    for device in {value.device for value in explanation.values}:
        arena = next((a for a in explanation.arenas if a.device == device), None)
        used = alive(explanation, device)
        assert arena is None and used.max() == 0 or used.max() == arena.lower_bound == used[arena.peak]
        for step in range(len(explanation.operators)):
            now = sorted(
                (value.offset, value.offset + value.bytes)
                for number, value in enumerate(explanation.values)
                if value.device == device and value.offset >= 0 and value.bytes
                and value.first <= step < value.last + (number not in taken)
            )  # fmt: skip
            for (_, end), (begin, _) in zip(now, now[1:]):
                assert end <= begin
            assert not now or now[-1][1] <= arena.planned


def test_prediction():
    made = convolutions().explain(data=SHAPE)
    assert not made.training and not made.with_gradients and "for prediction" in made.title
    check_plan(made)
    assert made.flops == FORWARD
    sizes = {array.name: array for array in made.arrays}
    assert sizes["data"].shape == SHAPE and sizes["data"].bytes == 4 * 4 * 3 * 16 * 16
    assert sizes["softmax_output"].kind == "output" and sizes["bn0_moving_mean"].kind == "auxiliary state"
    assert made.parameters == 16 * 9 * (3 + 16 + 16) + 3 * 2 * 16 + (16 * 8 * 8 + 1) * 10
    folded = of_pass(made, "fold_norm")
    assert counted(folded.gone)["BatchNorm"] == 3 and folded.held > 0
    assert {f"bn{i}" for i in range(3)} == set(next(o.names for o in folded.gone if o.op == "BatchNorm"))
    assert folded.before - folded.after == 3
    assert made.held and made.held_bytes == sum(held.bytes for held in made.held)
    assert [one.before for one in made.passes[1:]] == [one.after for one in made.passes[:-1]]
    assert made.forward_steps == len(made.operators) and made.again == []
    assert of_pass(made, "layout").conversions == made.conversions
    assert made.budget is None and made.strategies is None and made.ms is None


def test_passes_that_are_off_do_nothing(monkeypatch):
    import subprocess
    import sys

    code = (
        "import sys; sys.path.insert(0, 'tests/python'); import test_explanation as t; "
        "made = t.convolutions().explain(data=t.SHAPE); print([p.name for p in made.passes], len(made.held))"
    )
    monkeypatch.setenv("LOOMIX_FOLD_NORM", "0")
    monkeypatch.setenv("LOOMIX_FUSE", "0")
    root = __file__.rsplit("/tests/", 1)[0]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert "'fold_norm'" not in done.stdout and "'fuse'" not in done.stdout and "'simplify'" in done.stdout


def test_training():
    symbol = convolutions()
    made = symbol.explain(data=SHAPE, is_train=True, compare_strategies=True)
    assert made.training and made.with_gradients
    check_plan(made)
    forward = sum(operator.flops for operator in made.operators[: made.forward_steps])
    assert forward == FORWARD and made.flops - forward == 2 * FORWARD - FIRST  # the data have no gradient
    assert all(operator.gradient_of for operator in made.operators[made.forward_steps :])
    requests = {
        name: "null" if name in ("data", "softmax_label") else "write" for name in symbol.list_arguments()
    }
    bound = symbol.simple_bind(mx.cpu(), grad_req=requests, data=SHAPE)
    assert made.strategies == bound.planned_memory(True)
    assert (
        made.strategies["both"] == made.planned and made.strategies["naive"] > made.naive
    )  # views count there
    assert made.strategies["lower_bound"] == made.lower_bound <= made.planned <= made.naive


def test_what_training_computes_again():
    made = convolutions(filters=256).explain(data=(32, 3, 64, 64), is_train=True)
    remade = of_pass(made, "recompute")
    assert remade.after > remade.before and not remade.gone
    names = {name for one in remade.made for name in one.names}
    first = {"conv0", "weight of conv0"}  # with three channels it takes little
    assert names and names <= {f"{kind}{i}" for kind in ("bn", "relu") for i in range(3)} | first
    again = {operator.name for operator in made.again}
    assert again and again <= names
    assert all(operator.gradient_of for operator in made.again)
    check_plan(made)


def test_a_budget_and_what_it_costs():
    shape = (8, 3, 32, 32)
    free = convolutions().explain(data=shape, is_train=True)
    budget = int(free.planned * 0.96)
    made = convolutions().explain(data=shape, is_train=True, memory_budget=budget)
    assert (
        made.planned <= budget and made.budget.bytes == budget and made.budget.bytes_without == free.planned
    )
    assert made.budget.estimated_ms > made.budget.estimated_ms_without > 0
    assert sum(one.count for one in of_pass(made, "fit_memory").made) > 0
    assert len(made.again) > len(free.again) and "more time" in str(made)
    check_plan(made)
    enough = convolutions().explain(data=shape, is_train=True, memory_budget=2 * free.planned)
    assert enough.planned == free.planned and "more time" not in str(enough)
    with pytest.raises(ValueError, match="memory_budget of 1000 bytes is too small"):
        convolutions().explain(data=shape, is_train=True, memory_budget=1000)


def test_nothing_runs_and_no_memory_is_taken():
    net = mx.sym.Embedding(mx.sym.Variable("data"), input_dim=2**31, output_dim=512, name="words")
    net = mx.sym.FullyConnected(net, num_hidden=4, name="fc")
    mx.nd.waitall()
    mx.profiler.set_state("run")
    made = net.explain(data=(8, 2), is_train=True)
    mx.profiler.set_state("stop")
    tasks = json.loads(mx.profiler.dumps(reset=True, format="json"))["Time"]
    assert not tasks
    assert next(array for array in made.arrays if array.name == "words_weight").bytes == 2**42


def test_times_of_the_last_pass():
    symbol = convolutions()
    bound = symbol.simple_bind(mx.cpu(), data=(16, 3, 64, 64), grad_req="null")
    before = bound.explain()
    assert before.ms is None and "operators estimate" in str(before)
    bound.forward()
    after = bound.explain()
    convolution = next(o for o in after.operators if o.name == "conv1")
    assert convolution.ms > 0 and after.ms >= convolution.ms and "took in the last pass" in str(after)
    assert [o.name for o in before.operators] == [o.name for o in after.operators]
    assert all(o.ms is None or o.ms < 10_000 for o in after.operators)
    forward = bound.outputs[0].asnumpy()
    assert np.isfinite(forward).all()


def test_the_mode_is_that_of_the_last_pass():
    bound = convolutions().simple_bind(mx.cpu(), data=SHAPE)
    assert bound.explain().training
    bound.forward(is_train=False)
    assert not bound.explain().training
    bound.forward(is_train=True)
    bound.backward()
    made = bound.explain()
    assert made.training and made.with_gradients
    assert not bound.explain(is_train=False).training
    grads = bound.grad_dict["conv0_weight"].asnumpy()
    bound.backward()  # explain has not disturbed what the pass kept
    np.testing.assert_allclose(bound.grad_dict["conv0_weight"].asnumpy(), grads, rtol=1e-4, atol=1e-6)


def test_errors_of_a_pass_stay_with_its_arrays():
    x = mx.sym.Variable("x")
    bound = mx.sym.take(x, mx.sym.Variable("i"), mode="raise", name="rows").bind(
        mx.cpu(), {"x": mx.nd.ones((4, 2)), "i": mx.nd.array([9])}
    )
    bound.forward()
    assert bound.explain().operators[0].name == "rows"
    with pytest.raises(IndexError):
        bound.outputs[0].asnumpy()


class Twice(mx.operator.CustomOp):
    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)


@mx.operator.register("explained_twice")
class TwiceProp(mx.operator.CustomOpProp):
    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Twice()


def test_operators_written_in_python():
    x = mx.sym.Variable("x")
    net = mx.sym.Custom(mx.sym.relu(x, name="r"), op_type="explained_twice", name="twice")
    assert [o.name for o in net.explain(x=(300, 300)).operators] == ["r", "twice"]
    bound = net.simple_bind(mx.cpu(), x=(300, 300), grad_req="null")
    bound.forward()
    made = bound.explain()  # waits for what Python computes
    assert made.operators[1].ms > 0


def test_hybridized_blocks():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Dense(8, activation="relu"), mx.gluon.nn.Dense(3))
    net.initialize()
    with pytest.raises(mx.base.StateError, match="has compiled nothing yet: call hybridize"):
        net.explain()
    net.hybridize()
    net(mx.nd.ones((2, 4)))
    made = net.explain(compare_strategies=True)
    assert made.flops == 2 * 2 * (4 * 8 + 8 * 3) and not made.training
    assert made.strategies["both"] == made.planned
    with mx.autograd.record():
        out = net(mx.nd.ones((5, 4)))
        during = net.explain()  # the call's executor is kept for its gradients
        out.backward()
    assert during.training and during.with_gradients
    after = net.explain()
    assert [o.op for o in after.operators] == [o.op for o in during.operators]
    assert next(a.shape for a in after.arrays if a.kind == "argument") in ((5, 4), (8, 4))


def test_fused_operators_are_listed():
    x = mx.sym.Variable("x")
    made = mx.sym.tanh(mx.sym.exp(x * 2) + 1).explain(x=(100, 100))
    fused = [operator for operator in made.operators if operator.parts]
    assert [operator.parts for operator in fused] == [["_mul_scalar", "exp", "_plus_scalar", "tanh"]]
    assert counted(of_pass(made, "fuse").gone) == dict.fromkeys(fused[0].parts, 1)
    assert "4" in str(of_pass(made, "fuse").before)


def test_why_operators_stay_apart():
    x = mx.sym.Variable("x")
    e = mx.sym.exp(x, name="e")
    share = mx.sym.broadcast_div(e, mx.sym.sum(e, axis=1, keepdims=True, name="s"), name="share")
    made = share.explain(x=(8, 64))
    assert [operator.parts for operator in made.operators] == [["exp", "sum"], []]
    found = {(one.name, one.op, one.input, one.input_op): one.reason for one in made.apart}
    assert found == {
        ("share", "broadcast_div", "e", "exp"): "a reduction has its result when its pass ends",
        ("share", "broadcast_div", "s", "sum"): "a reduction has its result when its pass ends",
    }
    assert json.loads(made.to_json())["apart"] == [dataclasses.asdict(one) for one in made.apart]
    assert "2 x a reduction has its result when its pass ends, such as e (exp) and share" in str(made)
    together = mx.sym.sum(mx.sym.exp(x) * 2).explain(x=(8, 64))
    assert together.apart == [] and "why operators" not in str(together)
    assert [operator.parts for operator in together.operators] == [["exp", "_mul_scalar", "sum"]]


def test_joins_without_copies():
    x = mx.sym.Variable("x")
    parts = [mx.sym.sin(x), mx.sym.softmax(x), mx.sym.cos(x)]
    net = mx.sym.softmax(mx.sym.concat(*parts, dim=1, name="join"))
    one = net.explain(x=(1, 16, 4))
    assert one.views == 1 and "join" not in [operator.name for operator in one.operators]
    assert one.planned == 3 * 16 * 4 * 4
    assert "join" in [operator.name for operator in net.explain(x=(2, 16, 4)).operators]


def test_several_devices_have_plans_of_their_own():
    with mx.AttrScope(ctx_group="a"):
        net = mx.sym.tanh(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=64, name="one"))
    with mx.AttrScope(ctx_group="b"):
        net = mx.sym.FullyConnected(
            mx.sym.FullyConnected(net, num_hidden=32, name="two"), num_hidden=4, name="end"
        )
    made = net.explain(data=(8, 16), group2ctx={"a": mx.cpu(1), "b": mx.cpu(2)})
    check_plan(made)
    assert {arena.device for arena in made.arenas} == {"cpu(1)", "cpu(2)"}
    assert any(operator.kernel == "transfer" for operator in made.operators)
    assert "memory of cpu(1) by step" in str(made) and made.to_svg().count("planned</text>") == 2


def test_the_report_is_readable():
    made = convolutions().explain(data=SHAPE, is_train=True, compare_strategies=True)
    text = str(made)
    lines = text.splitlines()
    assert 40 < len(lines) < 100 and max(map(len, lines)) <= 100
    for part in (
        "softmax_output, with gradients",
        "parameters",
        "lower bound",
        "passes"[:4],
        "█",
        "▲",
        "co-share",
    ):
        assert part in text
    assert max(map(len, made.to_text(width=70).splitlines())) <= 70


def test_the_table_of_steps():
    bound = convolutions().simple_bind(mx.cpu(), data=(8, 3, 32, 32), grad_req="null")
    before = bound.explain().table().splitlines()
    assert before[0].split() == ["step", "name", "operator", "kernel", "makes", "scratch", "FLOP", "estimate"]
    bound.forward()
    made = bound.explain()
    lines = made.table().splitlines()
    assert len(lines) == 1 + len(made.operators) and lines[0].endswith("time")
    row = next(line for line in lines if " conv1 " in line)
    assert "ms" in row or "µs" in row
    assert " 37.7 M " in row  # 2 x 8 x 32 x 32 x 16 x 16 x 9


def test_the_picture():
    x = mx.sym.Variable("x")
    net = mx.sym.FullyConnected(mx.sym.tanh(x, name="a<&>b"), num_hidden=50, name="fc")
    made = mx.sym.sum(mx.sym.tanh(net, name="t"), name="s").explain(x=(20, 30))
    root = ElementTree.fromstring(made.to_svg())
    titles = [title.text for title in root.iter(f"{SVG}title")]
    planned = [value for value in made.values if value.offset >= 0]
    assert len(titles) == len(planned) > 1
    assert any(title.startswith("a<&>b_output: 2.3 KiB") for title in titles)
    for box, value in zip((e for e in root.iter(f"{SVG}rect") if len(e)), planned):
        assert float(box.get("height")) == pytest.approx(380 * value.bytes / made.planned, abs=0.01)
    assert made._repr_svg_() == made.to_svg() and "&lt;&amp;&gt;" in made._repr_html_()


def test_a_picture_has_a_limit(monkeypatch):
    monkeypatch.setattr("loomix._explanation_svg._MOST", 5)
    made = convolutions().explain(data=SHAPE, is_train=True)
    svg = made.to_svg()
    planned = [value for value in made.values if value.offset >= 0]
    assert svg.count("<title>") == 5 and f"{len(planned) - 5} small values are not drawn" in svg
    areas = sorted(value.bytes * (value.last - value.first + 1) for value in planned)
    largest = next(value for value in planned if value.bytes * (value.last - value.first + 1) == areas[-1])
    assert f"<title>{largest.name}: " in svg


def test_graphs_without_planned_memory():
    made = mx.sym.tanh(mx.sym.Variable("x")).explain(x=(2, 2))
    assert made.planned == 0 and made.arenas == []
    ElementTree.fromstring(made.to_svg())
    assert "0 bytes planned" in str(made)
    assert mx.sym.Variable("x").explain(x=(2, 2)).operators == []


def test_json(tmp_path):
    made = convolutions().explain(data=SHAPE)
    data = json.loads(made.to_json(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text()) == data
    assert data["planned"] == made.planned and len(data["values"]) == len(made.values)
    assert data["operators"][0]["name"] == made.operators[0].name


def test_wrong_uses():
    with pytest.raises(mx.base.MXNetError, match="fc_weight"):
        mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc").explain()
    with pytest.raises(mx.base.MXNetError, match="dat"):
        convolutions().explain(dat=SHAPE)
    with pytest.raises(ValueError, match=r"\[Symbol.explain\] memory_budget is -1"):
        convolutions().explain(data=SHAPE, memory_budget=-1)


@pytest.fixture(name="file")
def symbol_file(tmp_path):
    convolutions().save(str(tmp_path / "net-symbol.json"))
    return str(tmp_path / "net-symbol.json")


def explain(*arguments):
    return main(["explain", *arguments])


def test_command(file, tmp_path, capsys):
    svg, data = str(tmp_path / "plan.svg"), str(tmp_path / "plan.json")
    shape = "data:" + ",".join(map(str, SHAPE))
    assert (
        explain(file, "--shape", shape, "--compare-strategies", "--steps", "--svg", svg, "--json", data) == 0
    )
    text = capsys.readouterr().out
    assert "softmax_output, for prediction" in text and "way of sharing memory" in text
    assert "step  name" in text
    ElementTree.parse(svg)
    with open(data, encoding="utf-8") as read:
        assert json.load(read)["flops"] == FORWARD
    assert explain(file, "--shape", shape.replace(":", "="), "--train", "--budget", "1G", "--json", "-") == 0
    made = json.loads(capsys.readouterr().out)
    assert made["training"] and made["budget"]["bytes"] == 2**30
    assert explain(file, "--shape", shape, "--type", "data:float16", "--json", "-") == 0
    made = json.loads(capsys.readouterr().out)
    assert next(array["dtype"] for array in made["arrays"] if array["name"] == "data") == "float16"


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--shape", "date:1,3,8,8"], "Did you mean"),
        (
            ["--shape", "data:1,3,8,8", "--train", "--budget", "5K"],
            "memory_budget of 5120 bytes is too small",
        ),
        ([], "do not follow from those given"),
        (["--shape", "data:1,3,8,8", "--type", "data:float33"], "float33"),
    ],
)
def test_command_errors(file, capsys, arguments, message):
    assert explain(file, *arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--shape", "data"], ["--shape", "data:a"], ["--budget", "much"]])
def test_command_usage(file, arguments):
    with pytest.raises(SystemExit):
        explain(file, *arguments)


def test_command_without_a_file(capsys):
    assert explain("nothing.json") == 2
    assert "there is no file nothing.json" in capsys.readouterr().err
