# SPDX-License-Identifier: Apache-2.0
"""The trainer: applies an optimizer to the parameters of a network, on all their devices."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from .. import optimizer as opt
from .._arguments import as_number, settings, suggests
from ..base import AssertedError, MXNetError
from ..kvstore import KVStore, KVStoreBase
from ..model import _create_kvstore, _create_sparse_kvstore, read_whole, write_whole
from .parameter import Parameter, ParameterDict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ..context import Context
    from ..contrib.amp.loss_scaler import LossScaler
    from ..optimizer import Optimizer

__all__ = ["Trainer"]


class Trainer:
    """Updates parameters from their gradients.

    Parameters
    ----------
    params : ParameterDict, dict or list of Parameter
        What :meth:`Block.collect_params` gives.
    optimizer : str or Optimizer
    optimizer_params : dict, optional
        Arguments of the optimizer, if it is given by name.
    kvstore : str or KVStoreBase, optional
        Where gradients of several devices or machines are added up; not used for one device.
    compression_params : dict, optional
        How the store compresses gradients.
    update_on_kvstore : bool, optional
        Whether the optimizer runs in the store; by default as the store decides.

    Examples
    --------
    >>> import loomix as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2)
    >>> net.initialize()
    >>> trainer = mx.gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    >>> with mx.autograd.record():
    ...     loss = net(mx.nd.ones((4, 2))).sum()
    >>> loss.backward()
    >>> trainer.step(batch_size=4)
    """

    @suggests(
        learning_rate="It is the optimizer's: give optimizer_params={'learning_rate': ...}",
        lr="It is the optimizer's: give optimizer_params={'learning_rate': ...}",
        momentum="It is the optimizer's: give optimizer_params={'momentum': ...}",
        wd="It is the optimizer's: give optimizer_params={'wd': ...}",
    )
    def __init__(
        self,
        params: ParameterDict | Mapping[str, Parameter] | Sequence[Parameter],
        optimizer: str | Optimizer,
        optimizer_params: Mapping[str, Any] | None = None,
        kvstore: str | KVStoreBase | None = "device",
        compression_params: Mapping[str, Any] | None = None,
        update_on_kvstore: bool | None = None,
    ) -> None:
        if isinstance(params, (dict, ParameterDict)):
            params = [params[key] for key in sorted(params.keys())]
        if not isinstance(params, (list, tuple)):
            raise AssertedError(
                f"[Trainer] params is of type {type(params).__name__}; expected a list or a dict of Parameters."
            )
        self._params: list[Parameter] = []
        self._param2idx: dict[int, int] = {}
        for i, param in enumerate(params):
            if not isinstance(param, Parameter):
                raise AssertedError(
                    f"[Trainer] item {i} of params is of type {type(param).__name__}; expected a Parameter."
                )
            if id(param) in self._param2idx:
                raise AssertedError(f"[Trainer] Parameter '{param.name}' is given twice.")
            self._param2idx[id(param)] = i
            self._params.append(param)
            param._set_trainer(self)
        self._compression_params = compression_params
        self._contains_sparse_weight = any(param._stype != "default" for param in self._params)
        self._contexts = self._check_contexts()
        self._init_optimizer(optimizer, settings("Trainer", "optimizer_params", optimizer_params or {}))
        self._scale = self._optimizer.rescale_grad
        self._amp_loss_scaler: LossScaler | None = None
        self._amp_original_scale = self._scale
        self._kvstore_asked, self._update_asked = kvstore, update_on_kvstore
        self._reset_kvstore()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {len(self._params)} parameters: {self._optimizer!r}>"

    def _check_contexts(self) -> list[Context]:
        contexts: list[Context] | None = None
        for param in self._params:
            own = param.list_ctx()
            if contexts is not None and contexts != own:
                raise AssertedError(
                    f"[Trainer] Parameter '{param.name}' is on {own}, but those before it are on {contexts}; expected "
                    "all on the same devices."
                )
            contexts = own
        return contexts or []

    def _init_optimizer(self, optimizer: str | Optimizer, settings: dict[str, Any]) -> None:
        params = dict(enumerate(self._params))
        if isinstance(optimizer, opt.Optimizer):
            if settings:
                raise AssertedError(
                    f"[Trainer] optimizer_params is {settings}, but the optimizer is made already; expected the name "
                    "of one, or no optimizer_params."
                )
            self._optimizer = optimizer
            self._optimizer.param_dict = params
        else:
            self._optimizer = opt.create(optimizer, param_dict=params, **settings)
        self._updaters = [opt.get_updater(self._optimizer) for _ in self._contexts]
        for updater in self._updaters:
            updater.part_of = self._part_of

    def _part_of(self, i: Any) -> tuple[Any, Any] | None:
        """Of a parameter's number, which part this rank has, and the whole shape; None: all of it."""
        param = self._params[i] if isinstance(i, int) and i < len(self._params) else None
        return None if param is None or param._cut is None else (param._cut, param.shape)

    # ---- the store ----

    def _reset_kvstore(self) -> None:
        """The store is made when it is needed first."""
        if getattr(self, "_kvstore", None) is not None and "dist" in self._kvstore.type:
            raise MXNetError(
                f"[Trainer] the values are in a store of type '{self._kvstore.type}', which has them once and for all; "
                "set them before the first step."
            )
        self._kv_initialized = False
        self._kvstore: Any = None
        self._distributed: bool | None = None
        self._update_on_kvstore: bool | None = None
        self._params_to_init = list(self._params)

    def _init_kvstore(self) -> None:
        wanted = self._update_asked
        if self._contains_sparse_weight:  # the store keeps all rows, whatever the devices have of them
            if wanted is False:
                raise AssertedError(
                    "[Trainer] update_on_kvstore is False, but a parameter is row_sparse, whose rows a store keeps and "
                    "updates; expected True or None."
                )
            store, on_store = _create_sparse_kvstore(self._kvstore_asked)
        else:
            arrays = {param.name: param._data[0] for param in self._params if param._data is not None}
            store, on_store = _create_kvstore(self._kvstore_asked, len(self._contexts), arrays)
            if store is not None and any(param._grad_stype != "default" for param in self._params):
                on_store = (
                    "dist" in store.type
                )  # as MXNet has it: devices update the rows of sparse gradients
        self._distributed = store is not None and "dist" in store.type
        if store is not None:
            is_async = self._distributed and "async" in store.type
            if is_async and wanted is False:
                raise AssertedError(
                    f"[Trainer] update_on_kvstore is False, but a store of type '{store.type}' has to update the "
                    "parameters itself; expected True or None."
                )
            on_store = is_async or (on_store if wanted is None else wanted)
            if on_store and not store.is_capable("optimizer"):
                if wanted:
                    raise AssertedError(
                        f"[Trainer] update_on_kvstore is True, but a {type(store).__name__} runs no optimizer; "
                        "expected False or None."
                    )
                on_store = False
            if self._compression_params:
                store.set_gradient_compression(self._compression_params)
            if on_store:
                store.set_optimizer(self._optimizer)
        self._kvstore, self._update_on_kvstore = store, None if store is None else bool(on_store)
        self._kv_initialized = True

    def _init_params(self) -> None:
        """Brings parameters to the store; those that are deferred later."""
        later = []
        for param in self._params_to_init:
            if param._deferred_init:
                later.append(param)
            elif self._kvstore is not None:
                arrays = param._check(param._data)
                i = self._param2idx[id(param)]
                if param._stype != "default":
                    self._kvstore.init(i, arrays[0])
                elif self._distributed or not isinstance(self._kvstore, KVStore):
                    self._kvstore.broadcast(i, arrays[0], arrays)
                else:  # the first one has its values already, and may be recorded
                    self._kvstore.init(i, arrays[0])
                    others: Any = arrays[1:]
                    if others:
                        self._kvstore.pull(i, others, priority=-i)
        self._params_to_init = later
        if hasattr(self._kvstore, "_note_trained"):
            self._kvstore._note_trained(i for i, _ in self._trained())

    def _prepare(self) -> None:
        if not self._kv_initialized:
            self._init_kvstore()
        if self._params_to_init:
            self._init_params()

    def _row_sparse_pull(self, param: Parameter, out: Any, row_id: Any) -> None:
        """Brings rows of a row_sparse parameter from the store to its arrays."""
        self._prepare()
        i = self._param2idx[id(param)]
        self._kvstore.row_sparse_pull(i, out=out, row_ids=row_id, priority=-i)

    # ---- the learning rate ----

    @property
    def learning_rate(self) -> float:
        """The current learning rate of the optimizer."""
        return self._optimizer.learning_rate

    @property
    def optimizer(self) -> Optimizer:
        """The optimizer."""
        return self._optimizer

    def set_learning_rate(self, lr: float) -> None:
        """Sets the learning rate; use a schedule where servers update the parameters."""
        if self._on_servers():
            warnings.warn(
                "[Trainer] the servers have the optimizer since the first step, and keep its learning rate. Use an "
                "lr_scheduler, or update_on_kvstore=False.",
                UserWarning,
                stacklevel=2,
            )
        self._optimizer.set_learning_rate(lr)

    # ---- steps ----

    def _on_servers(self) -> bool:
        """Whether servers have the optimizer."""
        return bool(self._update_on_kvstore and self._distributed and self._kv_initialized)

    def _set_scale(self, batch_size: int) -> None:
        as_number("Trainer", "batch_size", batch_size)
        if not batch_size > 0:
            raise AssertedError(
                f"[Trainer] batch_size is {batch_size}; expected a number above 0, as gradients are divided by it."
            )
        scale = self._scale / batch_size
        if self._on_servers():
            if self._optimizer.rescale_grad != scale:
                warnings.warn(
                    f"[Trainer] batch_size is {batch_size}, another than at the step before; the servers got the "
                    "optimizer with that one and go on to divide by it (update_on_kvstore=True).",
                    UserWarning,
                    stacklevel=3,
                )
        self._optimizer.rescale_grad = scale

    def step(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Adds up the gradients of all devices and updates the parameters; call it after ``backward``.

        Parameters
        ----------
        batch_size : int
            Gradients are divided by it.
        ignore_stale_grad : bool
            Whether parameters without a new gradient are left alone, instead of warned of.
        """
        self._set_scale(batch_size)
        self._prepare()
        self._check_gradients(ignore_stale_grad)
        self._allreduce_grads()
        self._update()

    def allreduce_grads(self) -> None:
        """Adds up the gradients of all devices, for code that changes the sums before it calls :meth:`update`."""
        self._prepare()
        if self._kvstore is not None and self._update_on_kvstore:
            raise AssertedError(
                "[Trainer.allreduce_grads] the store updates the parameters, so it keeps the sums; make the Trainer "
                "with update_on_kvstore=False."
            )
        self._allreduce_grads()

    def update(self, batch_size: int, ignore_stale_grad: bool = False) -> None:
        """Updates the parameters from gradients that :meth:`allreduce_grads` has added up; see :meth:`step`."""
        self._prepare()
        if self._kvstore is not None and self._update_on_kvstore:
            raise AssertedError(
                "[Trainer.update] the store updates the parameters, in step(); make the Trainer with "
                "update_on_kvstore=False."
            )
        self._set_scale(batch_size)
        self._check_gradients(ignore_stale_grad)
        self._update()

    def _trained(self) -> list[tuple[int, Parameter]]:
        return [(i, param) for i, param in enumerate(self._params) if param.grad_req != "null"]

    def _allreduce_grads(self) -> None:
        if self._kvstore is None:
            return
        keys, values, outs = [], [], []
        used, added = [], []
        for i, param in self._trained():
            gradients = param.list_grad()
            stale = [param._is_stale(k) for k in range(len(gradients))]
            if not self._update_on_kvstore:
                added.append((param, gradients, stale))
            elif all(stale) and not self._distributed:
                continue
            else:
                used.append((i, param))
            if (
                self._update_on_kvstore and param._stype != "default"
            ):  # rows are brought when they are asked for
                self._kvstore.push(i, gradients, priority=-i)
                continue
            keys.append(i)
            values.append(gradients)
            outs.append(param.list_data() if self._update_on_kvstore else gradients)
        if keys:
            self._kvstore._pushpull_all(keys, values, outs, [-i for i in keys])
        for i, param in used:
            param._mark_used()
            if self._distributed and "async" not in self._kvstore.type:
                self._optimizer._update_count(i)  # as servers do, for what the schedule says here
        for param, gradients, stale in added:  # the sum is no new gradient where none came
            for k, was_stale in enumerate(stale):
                if was_stale:
                    param._seen[k] = gradients[k]._version

    def _check_gradients(self, ignore_stale_grad: bool) -> None:
        """Raises, before anything is updated, if a parameter has no values yet, else if one has no new gradient."""
        trained = [] if ignore_stale_grad else self._trained()
        arrays = [param._check(param._data) for _, param in trained]
        for (_, param), own in zip(trained, arrays):
            for k, array in enumerate(own):
                if param._is_stale(k):
                    raise UserWarning(
                        f"[Trainer.step] the gradient of Parameter '{param.name}' on {array.context} is not new: no "
                        "backward has written it since the last step, as the loss does not depend on it. Where that is "
                        "meant, step(..., ignore_stale_grad=True) leaves such parameters alone."
                    )

    def _update(self) -> None:
        if self._kvstore is not None and self._update_on_kvstore:
            return
        trained = self._trained()
        scaler = self._amp_loss_scaler
        cut = next((param._cut for _, param in trained if param._cut is not None), None)
        anywhere = None if cut is None else cut.anywhere
        factors: Mapping[Any, Any] = {}
        if scaler is not None:
            gradients = self._gradients()
            on_device = scaler._device_scale(self._optimizer, gradients, anywhere)
            if on_device is not None:
                factors = on_device.follow(gradients)
            elif scaler.follow(gradients, anywhere):
                for _, param in trained:
                    param._mark_used()
                return
        for k, updater in enumerate(self._updaters):
            updater._factor = factors.get(self._contexts[k])
            todo = [
                (i, param.list_grad()[k], param.list_data()[k])
                for i, param in trained
                if not param._is_stale(k)
            ]
            if todo:
                indices, gradients, weights = (list(items) for items in zip(*todo))
                updater(indices, gradients, weights)
        for _, param in trained:
            param._mark_used()

    # ---- mixed precision, for contrib.amp ----

    def _use_loss_scaler(self, scaler: LossScaler) -> None:
        """From now on steps with gradients that are not finite are skipped, of which the scaler hears."""
        if self._update_asked or (self._kv_initialized and self._update_on_kvstore):
            raise MXNetError(
                "[Trainer] a loss scale needs gradients that are looked at before the update, but the parameters are "
                "updated on the kvstore; give update_on_kvstore=False."
            )
        self._update_asked = False
        self._amp_loss_scaler = scaler
        self._amp_original_scale = self._scale

    def _gradients(self) -> list[Any]:
        return [array for _, param in self._trained() for array in param.list_grad()]

    def _unscale_gradients(self) -> None:
        gradients = self._gradients()
        scaler = self._amp_loss_scaler
        on_device = None if scaler is None else scaler._device_scale(self._optimizer, gradients)
        factor = self._scale / self._amp_original_scale
        self._scale = self._amp_original_scale
        places = [(param, k) for _, param in self._trained() for k in range(len(param.list_grad()))]
        stale = [param._is_stale(k) for param, k in places]
        if on_device is not None:
            on_device.unscale(gradients)
        elif factor != 1:
            for gradient in gradients:
                gradient *= factor
        for (param, k), gradient, was_stale in zip(places, gradients, stale):
            if was_stale:  # which a factor does not make new
                param._seen[k] = gradient._version

    # ---- states ----

    def save_states(self, fname: str) -> None:
        """Writes the states of the optimizer, such as momenta, to a file."""
        self._prepare()
        if self._update_on_kvstore:
            if self._params_to_init:
                raise AssertedError(
                    f"[Trainer.save_states] Parameter '{self._params_to_init[0].name}' is not in the store yet, as it "
                    "waits for its shape; run the network once first."
                )
            self._kvstore.save_optimizer_states(fname, dump_optimizer=True)
            return
        if any(param._cut is not None for param in self._params):
            from ..parallel.whole_files import write_together

            updater = self._updaters[0]
            write_together(fname, lambda file: updater.write_states(file, True, file.is_first))
            return
        data = self._updaters[0].get_states(dump_optimizer=True)

        def write(path: str) -> None:
            with open(path, "wb") as file:
                file.write(data)

        write_whole(fname, write)

    def load_states(self, fname: str) -> None:
        """Reads what :meth:`save_states` wrote."""
        self._prepare()
        if self._update_on_kvstore:
            self._kvstore.load_optimizer_states(fname)
            owner = getattr(self._kvstore, "_updater", None)
            if owner is not None:
                self._optimizer = owner.optimizer
        else:

            def take(states: bytes) -> None:
                for updater in self._updaters:
                    updater.set_states(states)
                    updater.optimizer = self._updaters[0].optimizer

            read_whole(fname, take, in_parts=any(param._cut is not None for param in self._params))
            self._optimizer = self._updaters[0].optimizer
        self._optimizer.param_dict = dict(enumerate(self._params))
