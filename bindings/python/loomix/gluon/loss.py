# SPDX-License-Identifier: Apache-2.0
"""Loss functions: a value for each sample, from predictions and labels."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from .. import ndarray as nd
from .._arguments import as_number, as_whole, expect
from ..base import MXNetValueError, ShapeError, numeric_types
from .block import HybridBlock

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .base_block import BlockNames

__all__ = [
    "CTCLoss",
    "CosineEmbeddingLoss",
    "HingeLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "L2Loss",
    "LogisticLoss",
    "Loss",
    "PoissonNLLLoss",
    "SDMLLoss",
    "SigmoidBCELoss",
    "SigmoidBinaryCrossEntropyLoss",
    "SoftmaxCELoss",
    "SoftmaxCrossEntropyLoss",
    "SquaredHingeLoss",
    "TripletLoss",
]


def _apply_weighting(F: Any, loss: Any, weight: float | None = None, sample_weight: Any = None) -> Any:
    """The loss times the weight of each sample and the weight of all."""
    if sample_weight is not None:
        loss = F.broadcast_mul(loss, sample_weight)
    if weight is not None:
        if not isinstance(weight, numeric_types):
            raise MXNetValueError(f"[Loss] weight is {weight!r}; expected a number.")
        loss = loss * weight
    return loss


def _reshape_like(F: Any, x: Any, y: Any) -> Any:
    """`x` in the shape of `y`; for losses of other libraries."""
    return F.reshape_like(x, y)


class Loss(HybridBlock):
    """Base of the losses.

    Parameters
    ----------
    weight : float, optional
        A factor of the loss.
    batch_axis : int
        The axis of the samples.

    Examples
    --------
    >>> import loomix as mx
    >>> class Cubed(mx.gluon.loss.Loss):
    ...     def hybrid_forward(self, F, pred, label):
    ...         return F.abs(pred - label) ** 3
    >>> Cubed(weight=None, batch_axis=0)(mx.nd.array([1, 3]), mx.nd.array([0, 1])).asnumpy().round(3)
    array([1., 8.], dtype=float32)
    """

    def __init__(self, weight: float | None, batch_axis: int, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(**kwargs)
        who = type(self).__name__
        self._weight = None if weight is None else as_number(who, "weight", weight)
        expect(not isinstance(batch_axis, (str, float)), who, "batch_axis", batch_axis, "an int")
        self._batch_axis = batch_axis

    def __repr__(self) -> str:
        return f"{type(self).__name__}(batch_axis={self._batch_axis}, w={self._weight})"

    def _mean(self, F: Any, loss: Any) -> Any:
        """The mean of each sample."""
        return F.mean(loss, axis=self._batch_axis, exclude=True)

    def hybrid_forward(self, F: Any, x: Any, *args: Any, **kwargs: Any) -> Any:
        """Computes the loss; subclasses define it."""
        raise NotImplementedError


class L2Loss(Loss):
    """Half the mean of the squared differences.

    Parameters
    ----------
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.loss.L2Loss()(mx.nd.array([[1.0, 3.0]]), mx.nd.array([[1.0, 1.0]])).asnumpy()
    array([1.], dtype=float32)
    """

    def __init__(self, weight: float | None = 1.0, batch_axis: int = 0, **kwargs: Unpack[BlockNames]) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        loss = F.square(label.reshape_like(pred) - pred)
        weight = None if self._weight is None else self._weight / 2
        return self._mean(F, _apply_weighting(F, loss, weight, sample_weight))


class L1Loss(Loss):
    """The mean of the absolute differences.

    Parameters
    ----------
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.loss.L1Loss()(mx.nd.array([[1, 2], [3, 4]]), mx.nd.array([[0, 0], [3, 3]])).asnumpy()
    array([1.5, 0.5], dtype=float32)
    """

    def __init__(
        self, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        loss = F.abs(label.reshape_like(pred) - pred)
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


class SigmoidBinaryCrossEntropyLoss(Loss):
    """Cross-entropy of labels between 0 and 1.

    Parameters
    ----------
    from_sigmoid : bool
        Whether predictions are probabilities already, not logits.
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> loss = mx.gluon.loss.SigmoidBinaryCrossEntropyLoss()
    >>> loss(mx.nd.array([[0], [2]]), mx.nd.array([[1], [1]])).asnumpy().round(3)
    array([0.693, 0.127], dtype=float32)
    """

    def __init__(
        self,
        from_sigmoid: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_sigmoid = from_sigmoid

    def hybrid_forward(
        self, F: Any, pred: Any, label: Any, sample_weight: Any = None, pos_weight: Any = None
    ) -> Any:
        label = label.reshape_like(pred)
        if self._from_sigmoid:
            loss = self._of_probabilities(F, pred, label, pos_weight)
        else:
            # log(1 + exp(-|x|)) cannot overflow
            softplus = F.Activation(-F.abs(pred), act_type="softrelu")
            if pos_weight is None:
                loss = F.relu(pred) - pred * label + softplus
            else:
                factor = 1 + F.broadcast_mul(pos_weight - 1, label)
                loss = pred - pred * label + factor * (softplus + F.relu(-pred))
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))

    @staticmethod
    def _of_probabilities(F: Any, pred: Any, label: Any, pos_weight: Any) -> Any:
        tiny = 1e-12
        positive = F.log(pred + tiny) * label
        if pos_weight is not None:
            positive = F.broadcast_mul(positive, pos_weight)
        return -(positive + F.log(1.0 - pred + tiny) * (1.0 - label))


SigmoidBCELoss = SigmoidBinaryCrossEntropyLoss


class SoftmaxCrossEntropyLoss(Loss):
    """Cross-entropy of the softmax of the predictions.

    Parameters
    ----------
    axis : int
        The axis of the classes.
    sparse_label : bool
        Whether labels are numbers of classes, not distributions.
    from_logits : bool
        Whether predictions are logarithms of probabilities already.
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> loss = mx.gluon.loss.SoftmaxCrossEntropyLoss()
    >>> loss(mx.nd.array([[1, 1], [0, 5]]), mx.nd.array([0, 1])).asnumpy().round(3)
    array([0.693, 0.007], dtype=float32)
    """

    def __init__(
        self,
        axis: int = -1,
        sparse_label: bool = True,
        from_logits: bool = False,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        as_whole(type(self).__name__, "axis", axis)
        super().__init__(weight, batch_axis, **kwargs)
        self._axis = axis
        self._sparse_label = sparse_label
        self._from_logits = from_logits

    def forward(self, x: Any, *args: Any) -> Any:
        """Computes the loss of predictions and labels."""
        label = args[0] if args else None
        if self._sparse_label and isinstance(x, nd.NDArray) and isinstance(label, nd.NDArray):
            if label.shape == x.shape and self._axis in range(-x.ndim, x.ndim) and x.shape[self._axis] > 1:
                raise ShapeError(
                    f"[{type(self).__name__}] labels have the shape of the predictions, {x.shape}; expected numbers "
                    "of classes, or sparse_label=False for labels that are distributions, such as one-hot ones."
                )
        return super().forward(x, *args)

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, axis=self._axis)
        if self._sparse_label:
            loss = -F.pick(pred, label, axis=self._axis, keepdims=True)
        else:
            loss = -F.sum(pred * label.reshape_like(pred), axis=self._axis, keepdims=True)
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


SoftmaxCELoss = SoftmaxCrossEntropyLoss


class KLDivLoss(Loss):
    """The Kullback-Leibler divergence of the labels from the predictions: the sum of each sample.

    Parameters
    ----------
    from_logits : bool
        Whether predictions are logarithms of probabilities already.
    axis : int
        The axis of the softmax otherwise.
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> loss = mx.gluon.loss.KLDivLoss(from_logits=False)
    >>> loss(mx.nd.array([[0, 0]]), mx.nd.array([[0.5, 0.5]])).asnumpy().round(3)
    array([0.], dtype=float32)
    """

    def __init__(
        self,
        from_logits: bool = True,
        axis: int = -1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._axis = axis

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        if not self._from_logits:
            pred = F.log_softmax(pred, self._axis)
        loss = label * (F.log(label + 1e-12) - pred)
        loss = _apply_weighting(F, loss, self._weight, sample_weight)
        return F.sum(loss, axis=self._batch_axis, exclude=True)


class CTCLoss(Loss):
    """Connectionist temporal classification: the labels in order, at unknown times.

    Parameters
    ----------
    layout : {'NTC', 'TNC'}
        Axes of the predictions: samples, time, classes; the last class is the blank.
    label_layout : {'NT', 'TN'}
    weight : float, optional

    Examples
    --------
    >>> import loomix as mx
    >>> loss = mx.gluon.loss.CTCLoss()
    >>> loss(mx.nd.zeros((1, 4, 3)), mx.nd.array([[0, 1]])).asnumpy().round(3)
    array([1.686], dtype=float32)
    """

    def __init__(
        self,
        layout: str = "NTC",
        label_layout: str = "NT",
        weight: float | None = None,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        for what, value, allowed in (
            ("layout", layout, ("NTC", "TNC")),
            ("label_layout", label_layout, ("NT", "TN")),
        ):
            if value not in allowed:
                raise MXNetValueError(
                    f"[CTCLoss] {what} is {value!r}; expected {' or '.join(map(repr, allowed))}."
                )
        if not hasattr(nd, "CTCLoss"):
            raise NotImplementedError("[CTCLoss] the operator CTCLoss does not exist yet.")
        self._layout, self._label_layout = layout, label_layout
        super().__init__(weight, label_layout.find("N"), **kwargs)

    def hybrid_forward(
        self,
        F: Any,
        pred: Any,
        label: Any,
        pred_lengths: Any = None,
        label_lengths: Any = None,
        sample_weight: Any = None,
    ) -> Any:
        if self._layout == "NTC":
            pred = F.swapaxes(pred, 0, 1)
        if self._batch_axis == 1:
            label = F.swapaxes(label, 0, 1)
        lengths = {"data_lengths": pred_lengths, "label_lengths": label_lengths}
        loss = F.CTCLoss(
            pred,
            label,
            **{name: length for name, length in lengths.items() if length is not None},
            use_data_lengths=pred_lengths is not None,
            use_label_lengths=label_lengths is not None,
            blank_label="last",
        )
        return _apply_weighting(F, loss, self._weight, sample_weight)


class HuberLoss(Loss):
    """Half the squared difference, scaled, up to `rho`, and linear beyond.

    Parameters
    ----------
    rho : float
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.loss.HuberLoss()(mx.nd.array([[0.5], [3]]), mx.nd.array([[0], [0]])).asnumpy()
    array([0.125, 2.5  ], dtype=float32)
    """

    def __init__(
        self, rho: float = 1, weight: float | None = None, batch_axis: int = 0, **kwargs: Unpack[BlockNames]
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._rho = rho

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        distance = F.abs(label.reshape_like(pred) - pred)
        loss = F.where(
            distance > self._rho, distance - 0.5 * self._rho, (0.5 / self._rho) * F.square(distance)
        )
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


class HingeLoss(Loss):
    """``max(0, margin - pred * label)``; labels are -1 or 1.

    Parameters
    ----------
    margin : float
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.loss.HingeLoss()(mx.nd.array([[0.5], [2]]), mx.nd.array([[1], [-1]])).asnumpy()
    array([0.5, 3. ], dtype=float32)
    """

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        loss = F.relu(self._margin - pred * label.reshape_like(pred))
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


class SquaredHingeLoss(Loss):
    """The square of the :class:`HingeLoss`.

    Parameters
    ----------
    margin : float
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.loss.SquaredHingeLoss()(mx.nd.array([[0.5], [2]]), mx.nd.array([[1], [-1]])).asnumpy()
    array([0.25, 9.  ], dtype=float32)
    """

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        loss = F.square(F.relu(self._margin - pred * label.reshape_like(pred)))
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


class LogisticLoss(Loss):
    """``log(1 + exp(-pred * label))``.

    Parameters
    ----------
    weight : float, optional
    batch_axis : int
    label_format : {'signed', 'binary'}
        Whether labels are -1 and 1, or 0 and 1.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.loss.LogisticLoss()(mx.nd.array([[0], [2]]), mx.nd.array([[1], [-1]])).asnumpy().round(3)
    array([0.693, 2.127], dtype=float32)
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        label_format: str = "signed",
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        if label_format not in ("signed", "binary"):
            raise MXNetValueError(
                f"[LogisticLoss] label_format is {label_format!r}; expected 'signed' or 'binary'."
            )
        self._label_format = label_format

    def hybrid_forward(self, F: Any, pred: Any, label: Any, sample_weight: Any = None) -> Any:
        label = label.reshape_like(pred)
        if self._label_format == "signed":
            label = (label + 1.0) / 2.0
        loss = F.relu(pred) - pred * label + F.Activation(-F.abs(pred), act_type="softrelu")
        return self._mean(F, _apply_weighting(F, loss, self._weight, sample_weight))


class TripletLoss(Loss):
    """How much nearer, by squared distances, the positive sample should be than the negative one.

    Parameters
    ----------
    margin : float
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> anchor, positive, negative = mx.nd.array([[0, 0]]), mx.nd.array([[1, 0]]), mx.nd.array([[0, 3]])
    >>> mx.gluon.loss.TripletLoss(margin=10)(anchor, positive, negative).asnumpy()
    array([2.], dtype=float32)
    """

    def __init__(
        self,
        margin: float = 1,
        weight: float | None = None,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = as_number("TripletLoss", "margin", margin)

    def hybrid_forward(
        self, F: Any, pred: Any, positive: Any, negative: Any, sample_weight: Any = None
    ) -> Any:
        nearer = F.square(positive.reshape_like(pred) - pred)
        farther = F.square(negative.reshape_like(pred) - pred)
        loss = F.relu(F.sum(nearer - farther, axis=self._batch_axis, exclude=True) + self._margin)
        return _apply_weighting(F, loss, self._weight, sample_weight)


class PoissonNLLLoss(Loss):
    """The negative logarithm of the likelihood of counts.

    Parameters
    ----------
    weight : float, optional
    from_logits : bool
        Whether predictions are logarithms of the expected counts.
    batch_axis : int
    compute_full : bool
        Whether Stirling's approximation of the constant part is added for counts above 1.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.loss.PoissonNLLLoss()(mx.nd.array([[0], [1]]), mx.nd.array([[1], [2]])).asnumpy().round(3)
    array([0.859], dtype=float32)
    """

    def __init__(
        self,
        weight: float | None = None,
        from_logits: bool = True,
        batch_axis: int = 0,
        compute_full: bool = False,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._from_logits = from_logits
        self._compute_full = compute_full

    def hybrid_forward(
        self, F: Any, pred: Any, target: Any, sample_weight: Any = None, epsilon: float = 1e-08
    ) -> Any:
        target = target.reshape_like(pred)
        if self._from_logits:
            loss = F.exp(pred) - target * pred
        else:
            loss = pred - target * F.log(pred + epsilon)
        if self._compute_full:
            count = F.maximum(target, 1)  # smaller ones are masked; their logarithm may not exist
            stirling = count * F.log(count) - count + 0.5 * F.log(2 * math.pi * count)
            loss = loss + stirling * (target > 1)
        return F.mean(_apply_weighting(F, loss, self._weight, sample_weight))


class CosineEmbeddingLoss(Loss):
    """One minus the cosine of two vectors where the label is 1, and the cosine above `margin` where it is -1.

    Parameters
    ----------
    weight : float, optional
    batch_axis : int
    margin : float

    Examples
    --------
    >>> import loomix as mx
    >>> loss = mx.gluon.loss.CosineEmbeddingLoss()
    >>> loss(mx.nd.array([[1, 0]]), mx.nd.array([[0, 1]]), mx.nd.array([1])).asnumpy().round(3)
    array([[1.]], dtype=float32)
    """

    def __init__(
        self,
        weight: float | None = None,
        batch_axis: int = 0,
        margin: float = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self._margin = margin

    def hybrid_forward(self, F: Any, input1: Any, input2: Any, label: Any, sample_weight: Any = None) -> Any:
        input1 = input1.reshape_like(input2)
        cosine = self._cosine(F, input1, input2)
        label = F.reshape(label, (-1, 1))
        loss = F.where(label == 1, 1.0 - cosine, F.relu(cosine - self._margin))
        return _apply_weighting(F, loss, self._weight, sample_weight)

    @staticmethod
    def _cosine(F: Any, x: Any, y: Any, axis: int = -1) -> Any:
        length = F.norm(x, axis=axis).reshape((-1, 1)) * F.norm(y, axis=axis).reshape((-1, 1))
        product = F.sum(x * y, axis=axis).reshape((-1, 1))
        return product / F.broadcast_maximum(length, F.full((1, 1), 1e-12))


class SDMLLoss(Loss):
    """Smoothed deep metric learning: in two batches of pairs, each vector is to be nearest to its own partner.

    Parameters
    ----------
    smoothing_parameter : float
        The share of the probability that goes to all others.
    weight : float, optional
    batch_axis : int

    Examples
    --------
    >>> import loomix as mx
    >>> x = mx.nd.array([[1, 0], [0, 1]])
    >>> mx.gluon.loss.SDMLLoss()(x, x).shape
    (2,)
    """

    def __init__(
        self,
        smoothing_parameter: float = 0.3,
        weight: float | None = 1.0,
        batch_axis: int = 0,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(weight, batch_axis, **kwargs)
        self.kl_loss = KLDivLoss(from_logits=True)
        self.smoothing_parameter = smoothing_parameter

    def hybrid_forward(self, F: Any, x1: Any, x2: Any) -> Any:
        # squared distances of all pairs
        left = F.expand_dims(x1, 1)
        right = F.expand_dims(x2, 0)
        distances = F.sum(F.square(F.broadcast_sub(left, right)), axis=2)
        number = F.contrib.arange_like(x1, axis=0)
        own = F.broadcast_equal(F.expand_dims(number, 1), F.expand_dims(number, 0))
        others = F.sum(F.ones_like(number)) - 1
        share = F.broadcast_div((1 - own) * self.smoothing_parameter, others.reshape((1, 1)))
        labels = own * (1 - self.smoothing_parameter) + share
        return self.kl_loss(F.log_softmax(-distances, axis=1), labels)
