# SPDX-License-Identifier: Apache-2.0
"""Layers that apply one function to each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import initializer
from ..._arguments import as_number, expect
from ..block import HybridBlock

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..base_block import BlockNames

__all__ = ["ELU", "GELU", "SELU", "Activation", "LeakyReLU", "PReLU", "Swish"]


class Activation(HybridBlock):
    """An activation by its name.

    Parameters
    ----------
    activation : {'relu', 'sigmoid', 'tanh', 'softrelu', 'softsign'}
        Other names are refused when the layer runs.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.Activation("relu")(mx.nd.array([-1.0, 2.0])).asnumpy()
    array([0., 2.], dtype=float32)
    """

    def __init__(self, activation: str, **kwargs: Unpack[BlockNames]) -> None:
        expect(isinstance(activation, str), "Activation", "activation", activation, "a name such as 'relu'")
        self._act_type = activation
        super().__init__(**kwargs)

    def _alias(self) -> str:
        return self._act_type

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._act_type})"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.Activation(x, act_type=self._act_type, name="fwd")


class LeakyReLU(HybridBlock):
    """The identity above 0, `alpha` times the input below.

    Parameters
    ----------
    alpha : float
        The slope below 0; not negative.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.LeakyReLU(0.25)(mx.nd.array([-4, 2])).asnumpy()
    array([-1.,  2.], dtype=float32)
    """

    def __init__(self, alpha: float, **kwargs: Unpack[BlockNames]) -> None:
        as_number("LeakyReLU", "alpha", alpha, least=0)
        super().__init__(**kwargs)
        self._alpha = alpha

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._alpha})"

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="leaky", slope=self._alpha, name="fwd")


class PReLU(HybridBlock):
    """A leaky ReLU whose slope below 0 is learned.

    Parameters
    ----------
    alpha_initializer : Initializer
    in_channels : int
        1 for one slope, or the channels (the second axis) for one each.

    Examples
    --------
    >>> import loomix as mx
    >>> layer = mx.gluon.nn.PReLU()
    >>> layer.initialize()
    >>> layer(mx.nd.array([[-4, 2]])).asnumpy()
    array([[-1.,  2.]], dtype=float32)
    """

    def __init__(
        self,
        alpha_initializer: Any = initializer.Constant(0.25),
        in_channels: int = 1,
        **kwargs: Unpack[BlockNames],
    ) -> None:
        super().__init__(**kwargs)
        with self.name_scope():
            self.alpha = self.params.get("alpha", shape=(in_channels,), init=alpha_initializer)

    def hybrid_forward(self, F: Any, x: Any, alpha: Any) -> Any:
        return F.LeakyReLU(x, gamma=alpha, act_type="prelu", name="fwd")


class ELU(HybridBlock):
    """``alpha * (exp(x) - 1)`` below 0, the identity above.

    Parameters
    ----------
    alpha : float

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.ELU()(mx.nd.array([-1, 2])).asnumpy().round(3)
    array([-0.632,  2.   ], dtype=float32)
    """

    def __init__(self, alpha: float = 1.0, **kwargs: Unpack[BlockNames]) -> None:
        as_number("ELU", "alpha", alpha)
        super().__init__(**kwargs)
        self._alpha = alpha

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="elu", slope=self._alpha)


class SELU(HybridBlock):
    """The ELU that keeps mean 0 and variance 1.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.SELU()(mx.nd.array([-1, 2])).asnumpy().round(3)
    array([-1.111,  2.101], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="selu", name="fwd")


class GELU(HybridBlock):
    """The input times the normal distribution function of it.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.GELU()(mx.nd.array([-1, 2])).asnumpy().round(3)
    array([-0.159,  1.954], dtype=float32)
    """

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return F.LeakyReLU(x, act_type="gelu", name="fwd")


class Swish(HybridBlock):
    """``x * sigmoid(beta * x)``.

    Parameters
    ----------
    beta : float

    Examples
    --------
    >>> import loomix as mx
    >>> mx.gluon.nn.Swish()(mx.nd.array([-1, 2])).asnumpy().round(3)
    array([-0.269,  1.762], dtype=float32)
    """

    def __init__(self, beta: float = 1.0, **kwargs: Unpack[BlockNames]) -> None:
        as_number("Swish", "beta", beta)
        super().__init__(**kwargs)
        self._beta = beta

    def hybrid_forward(self, F: Any, x: Any) -> Any:
        return x * F.sigmoid(self._beta * x, name="fwd")
