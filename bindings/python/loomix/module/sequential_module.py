# SPDX-License-Identifier: Apache-2.0
"""A chain of modules."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _star
from .._arguments import expect
from ..base import MXNetValueError
from ..initializer import Uniform
from ..io import DataBatch, DataDesc
from ..log import of
from .base_module import BaseModule, check_batch

if TYPE_CHECKING:
    from ..kvstore import KVStore
    from ..monitor import Monitor
    from ..ndarray import NDArray
    from ..optimizer import Optimizer

__all__ = ["SequentialModule"]


class SequentialModule(BaseModule):
    """Modules of which each takes the outputs of the one before.

    Examples
    --------
    >>> import loomix as mx
    >>> first = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=8, name="fc1")
    >>> second = mx.sym.SoftmaxOutput(mx.sym.Variable("data"), name="softmax")
    >>> chain = mx.mod.SequentialModule()
    >>> _ = chain.add(mx.mod.Module(first, label_names=None))
    >>> _ = chain.add(mx.mod.Module(second), take_labels=True, auto_wiring=True)
    """

    META_TAKE_LABELS = "take_labels"
    META_AUTO_WIRING = "auto_wiring"

    def __init__(self, logger: Any = logging) -> None:
        super().__init__(logger)
        self._modules: list[Any] = []
        self._metas: list[Any] = []
        self._label_shapes: Any = None

    def add(self, module: Any, **kwargs: Any) -> Any:
        """Appends a module.

        Parameters
        ----------
        module : BaseModule
            The module.
        take_labels : bool
            Whether it gets the labels.
        auto_wiring : bool
            Whether its inputs are renamed to the outputs of the module before.

        Returns
        -------
        SequentialModule
            Itself.
        """
        unknown = set(kwargs) - {self.META_TAKE_LABELS, self.META_AUTO_WIRING}
        if unknown:
            raise MXNetValueError(f"[SequentialModule] unknown options {sorted(unknown)}.")
        expect(isinstance(module, BaseModule), "SequentialModule.add", "module", module, "a module")
        self._modules.append(module)
        self._metas.append(kwargs)
        self.binded = self.params_initialized = self.optimizer_initialized = False
        return self

    @property
    def data_names(self) -> Any:
        return self._modules[0].data_names if self._modules else []

    @property
    def output_names(self) -> Any:
        return self._modules[-1].output_names if self._modules else []

    @property
    def data_shapes(self) -> Any:
        self._require(params=False)
        return self._modules[0].data_shapes

    @property
    def label_shapes(self) -> Any:
        self._require(params=False)
        return self._label_shapes

    @property
    def output_shapes(self) -> Any:
        self._require(params=False)
        return self._modules[-1].output_shapes

    def get_params(self) -> Any:
        self._require()
        arg_params, aux_params = {}, {}
        for module in self._modules:
            arg, aux = module.get_params()
            arg_params.update(arg)
            aux_params.update(aux)
        return arg_params, aux_params

    def init_params(
        self,
        initializer: Callable[..., Any] | None = Uniform(0.01),
        arg_params: Mapping[str, NDArray] | None = None,
        aux_params: Mapping[str, NDArray] | None = None,
        allow_missing: bool = False,
        force_init: bool = False,
        allow_extra: bool = False,
    ) -> None:
        if self.params_initialized and not force_init:
            return
        self._require(params=False)
        owners: dict[str, int] = {}
        for number, module in enumerate(self._modules):
            module.init_params(
                initializer, arg_params, aux_params, allow_missing, force_init, allow_extra=True
            )
            for names in module.get_params():
                for name in names:
                    if owners.setdefault(name, number) != number:
                        raise MXNetValueError(
                            f"[SequentialModule] modules {owners[name]} and {number} both have a parameter "
                            f"{name!r}."
                        )
        self.params_initialized = True

    def bind(
        self,
        data_shapes: Any,
        label_shapes: Any = None,
        for_training: bool = True,
        inputs_need_grad: bool = False,
        force_rebind: bool = False,
        shared_module: Any = None,
        grad_req: str | Sequence[str] | Mapping[str, str] = "write",
    ) -> None:
        if self.binded and not force_rebind:
            of(self.logger).warning("Already bound, ignoring bind()")
            return
        if shared_module is not None:
            raise MXNetValueError("[SequentialModule] shared_module is not supported.")
        if not self._modules:
            raise MXNetValueError("[SequentialModule] there is no module; add some first.")
        self._label_shapes = label_shapes
        takes_any = False
        for number, (module, meta) in enumerate(zip(self._modules, self._metas)):
            takes = meta.get(self.META_TAKE_LABELS, False)
            takes_any = takes_any or takes
            if meta.get(self.META_AUTO_WIRING, False):
                names = module.data_names
                if len(names) != len(data_shapes):
                    raise MXNetValueError(
                        f"[SequentialModule] module {number} has {len(names)} inputs but gets "
                        f"{len(data_shapes)}."
                    )
                data_shapes = [DataDesc(name, tuple(item[1])) for name, item in zip(names, data_shapes)]
            module.bind(
                data_shapes,
                label_shapes if takes else None,
                for_training=for_training,
                inputs_need_grad=for_training and (inputs_need_grad or number > 0),
                force_rebind=force_rebind,
                grad_req=grad_req,
            )
            data_shapes = module.output_shapes
        if not takes_any:
            self._label_shapes = None
        self.for_training, self.inputs_need_grad = for_training, inputs_need_grad
        self.binded = True

    def init_optimizer(
        self,
        kvstore: str | KVStore = "local",
        optimizer: str | Optimizer = "sgd",
        optimizer_params: Any = (("learning_rate", 0.01),),
        force_init: bool = False,
    ) -> None:
        self._require()
        if self._keeps_optimizer(kvstore, optimizer, optimizer_params, force_init):
            return
        for module in self._modules:
            module.init_optimizer(kvstore, optimizer, optimizer_params, force_init)
        self.optimizer_initialized = True

    def forward(self, data_batch: DataBatch, is_train: bool | None = None) -> None:
        self._require()
        check_batch("forward", data_batch)
        # Named tuples of the user's own may have nothing but data.
        label, pad, index = (getattr(data_batch, name, None) for name in ("label", "pad", "index"))
        batch = DataBatch(data_batch.data, label, pad, index)
        for module in self._modules:
            module.forward(batch, is_train)
            batch = DataBatch(module.get_outputs(), label, pad, index)

    def backward(self, out_grads: Any = None) -> None:
        self._require()
        for number, module in reversed(list(enumerate(self._modules))):
            module.backward(out_grads)
            if number:
                out_grads = module.get_input_grads()

    def update(self) -> None:
        self._require(optimizer=True)
        for module in self._modules:
            module.update()

    def get_outputs(self, merge_multi_context: bool = True) -> Any:
        self._require()
        return self._modules[-1].get_outputs(merge_multi_context)

    def get_input_grads(self, merge_multi_context: bool = True) -> Any:
        self._require()
        return self._modules[0].get_input_grads(merge_multi_context)

    def update_metric(self, eval_metric: Any, labels: Any, pre_sliced: bool = False) -> None:
        self._require()
        for module, meta in zip(self._modules, self._metas):
            if meta.get(self.META_TAKE_LABELS, False):
                module.update_metric(eval_metric, labels, pre_sliced)

    def install_monitor(self, mon: Monitor) -> None:
        self._require(params=False)
        for module in self._modules:
            module.install_monitor(mon)


_star.complete(globals(), "BaseModule Uniform copy logging")
