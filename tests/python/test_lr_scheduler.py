# SPDX-License-Identifier: Apache-2.0
import math

import pytest
from loomix import lr_scheduler as lrs

pytestmark = pytest.mark.library


def test_factor():
    schedule = lrs.FactorScheduler(step=3, factor=0.5, stop_factor_lr=0.2, base_lr=1.0)
    assert [schedule(n) for n in (1, 3, 4, 6, 7, 10, 100)] == [1.0, 1.0, 0.5, 0.5, 0.25, 0.2, 0.2]


def test_a_jump_gives_what_single_steps_give():
    stepwise, jump = (lrs.FactorScheduler(step=2, factor=0.9, base_lr=1.0) for _ in range(2))
    for n in range(1, 30):
        last = stepwise(n)
    assert jump(29) == last


def test_multi_factor():
    schedule = lrs.MultiFactorScheduler(step=[2, 5], factor=0.1, base_lr=1.0)
    assert [schedule(n) for n in (1, 2, 3, 5)] == [1.0, 1.0, 0.1, 0.1]
    assert schedule(6) == pytest.approx(0.01)


def test_poly_and_cosine():
    poly = lrs.PolyScheduler(max_update=100, base_lr=2.0, pwr=3, final_lr=0.5)
    cosine = lrs.CosineScheduler(max_update=100, base_lr=2.0, final_lr=0.5)
    for n in range(0, 101, 10):
        assert poly(n) == pytest.approx(0.5 + 1.5 * (1 - n / 100) ** 3)
        assert cosine(n) == pytest.approx(0.5 + 1.5 * (1 + math.cos(math.pi * n / 100)) / 2)
    assert poly(1000) == 0.5 and cosine(1000) == pytest.approx(0.5)


@pytest.mark.parametrize("klass", [lrs.PolyScheduler, lrs.CosineScheduler])
def test_warmup(klass):
    schedule = klass(max_update=30, base_lr=1.0, warmup_steps=10, warmup_begin_lr=0.2)
    assert [schedule(n) for n in (0, 5)] == [pytest.approx(0.2), pytest.approx(0.6)]
    assert schedule(10) == 1.0 and schedule(30) == pytest.approx(0.0)
    constant = klass(max_update=30, base_lr=1.0, warmup_steps=10, warmup_begin_lr=0.2, warmup_mode="constant")
    assert constant(9) == 0.2


@pytest.mark.parametrize(
    "make",
    [
        lambda: lrs.FactorScheduler(0),
        lambda: lrs.FactorScheduler(1, factor=1.5),
        lambda: lrs.MultiFactorScheduler([3, 2]),
        lambda: lrs.MultiFactorScheduler([]),
        lambda: lrs.MultiFactorScheduler([0, 2]),
        lambda: lrs.PolyScheduler(0),
        lambda: lrs.CosineScheduler(2.5),
        lambda: lrs.LRScheduler(warmup_steps=-1),
        lambda: lrs.LRScheduler(base_lr=0.1, warmup_begin_lr=0.2),
        lambda: lrs.LRScheduler(warmup_mode="slow"),
    ],
)
def test_bad_arguments(make):
    with pytest.raises(ValueError):
        make()
