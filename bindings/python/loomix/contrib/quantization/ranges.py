# SPDX-License-Identifier: Apache-2.0
"""Collectors of ranges: what the values of a float network are while examples run through it."""

from __future__ import annotations

import logging
from collections.abc import Collection
from typing import Any

import numpy as np

from ... import ndarray as nd
from ...ndarray import NDArray


def read_by(name: str, readers: dict[str, str]) -> str:
    """A value, and the layer that reads it, as errors name them."""
    return f"{name}, which {readers[name]} reads," if name in readers else name


class CalibrationCollector:
    """What collects ranges. A subclass defines :meth:`collect`, and :meth:`post_collect` or ``min_max_dict``.

    Attributes
    ----------
    include_layer : list of str
        The names of the values that are wanted; quantization sets it.
    min_max_dict : dict
        Name -> (least, greatest).

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> class Fixed(quantization.CalibrationCollector):
    ...     def collect(self, name, arr):
    ...         self.min_max_dict[name] = (-1.0, 1.0)
    """

    def __init__(self) -> None:
        self.include_layer: Collection[str] | None = None
        self.min_max_dict: dict[str, tuple[float, float]] = {}
        self.aliases: dict[str, str] = {}  # what a monitor calls inputs of the network
        self.readers: dict[str, str] = {}  # by value: the layer that wants its range, for errors

    def collect(self, name: str, arr: NDArray) -> None:
        """Gets a value of the network.

        Parameters
        ----------
        name : str
            Such as ``"conv0_output"``.
        arr : NDArray
            The value.
        """
        raise NotImplementedError(f"[quantization] {type(self).__name__} does not define collect(name, arr).")

    def post_collect(self) -> dict[str, tuple[float, float]]:
        """The ranges, once all examples have run."""
        return self.min_max_dict

    def _name(self, name: Any) -> str | None:
        name = name.decode() if isinstance(name, bytes) else str(name)
        name = self.aliases.get(name, name)
        return name if self.include_layer is None or name in self.include_layer else None

    def _numbers(self, name: str, arr: NDArray) -> np.ndarray:
        values = arr.asnumpy()
        if values.size and not np.isfinite(values).all():
            raise ValueError(
                f"[quantization] {read_by(name, self.readers)} has NaN or infinite values in a calibration batch, "
                "and so no range. Mend the data, or exclude the layer."
            )
        return values


class _LayerOutputMinMaxCollector(CalibrationCollector):
    """Keeps the least and the greatest value of each layer."""

    def __init__(self, quantized_dtype: str, include_layer: Any = None, logger: Any = None) -> None:
        super().__init__()
        self.quantized_dtype, self.include_layer, self.logger = quantized_dtype, include_layer, logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Takes a layer's value in."""
        known = self._name(name)
        if known is None or arr.size == 0:
            return
        values = self._numbers(known, arr)
        low, high = float(values.min()), float(values.max())
        if known in self.min_max_dict:
            old = self.min_max_dict[known]
            low, high = min(low, old[0]), max(high, old[1])
        self.min_max_dict[known] = (low, high)
        if self.logger:
            self.logger.debug("Collecting layer %s min_range=%f, max_range=%f", known, low, high)


def combine_histogram(old_hist: Any, arr: Any, new_min: float, new_max: float, new_th: float) -> Any:
    """A histogram with the values of ``arr`` added; it grows at both ends if they do not fit.

    Parameters
    ----------
    old_hist : tuple
        (counts, edges, least, greatest, threshold).
    arr : array
        Further values.
    new_min, new_max : float
        The least and the greatest of them.
    new_th : float
        Their greatest magnitude.

    Returns
    -------
    tuple
        Like ``old_hist``.

    Examples
    --------
    >>> import loomix as mx
    >>> from loomix.contrib import quantization
    >>> import numpy as np
    >>> counts, edges = np.histogram([-1, 0, 1], bins=3, range=(-1, 1))
    >>> quantization.combine_histogram((counts, edges, -1, 1, 1), np.array([0.1]), 0.1, 0.1, 0.1)[0].tolist()
    [1, 2, 1]
    """
    counts, edges, low, high, th = old_hist
    low, high = min(low, new_min), max(high, new_max)
    if new_th <= th:
        return counts + np.histogram(arr, bins=len(counts), range=(-th, th))[0], edges, low, high, th
    step = 2 * th / len(counts)
    more = int((new_th - th) // step + 1)
    th += more * step
    grown, edges = np.histogram(arr, bins=len(counts) + 2 * more, range=(-th, th))
    grown[more : more + len(counts)] += counts
    return grown, edges, low, high, th


def _coarser(hist: Any, th: float, most: int) -> Any:
    """The histogram with an odd number of bins in one, if it had more than `most` bins by the time it reached to `th`.

    It keeps 0 in the middle of a bin. Values that are tiny in the first batch would want bins without end."""
    counts, _, low, high, old = hist
    factor = int(len(counts) * max(th / old, 1.0) // most) | 1
    if factor == 1:
        return hist
    middle, reach = len(counts) // 2, factor // 2
    sides = -(-max(middle - reach, 0) // factor)
    if sides == 0:
        merged = np.array([counts.sum()])
    else:
        merged = np.pad(counts, sides * factor + reach - middle).reshape((-1, factor)).sum(axis=1)
    new = old / len(counts) * factor * len(merged)
    return merged, np.linspace(-new, new, len(merged) + 1), low, high, new


class _LayerHistogramCollector(CalibrationCollector):
    """Keeps a histogram of each layer's values, of which a threshold is found by entropy."""

    def __init__(self, num_bins: int = 8001, include_layer: Any = None, logger: Any = None) -> None:
        super().__init__()
        self.hist_dict: dict[str, Any] = {}
        self.num_bins, self.include_layer, self.logger = num_bins, include_layer, logger

    def collect(self, name: str, arr: NDArray) -> None:
        """Takes a layer's value in."""
        known = self._name(name)
        if known is None or arr.size == 0:
            return
        values = self._numbers(known, arr)
        low, high = float(values.min()), float(values.max())
        th = max(abs(low), abs(high))
        if th == 0 and known not in self.hist_dict:
            return  # nothing but zeros so far
        if known in self.hist_dict:
            before = _coarser(self.hist_dict[known], th, 2 * self.num_bins)
            self.hist_dict[known] = combine_histogram(before, values, low, high, th)
        else:
            counts, edges = np.histogram(values, bins=self.num_bins, range=(-th, th))
            self.hist_dict[known] = (counts, edges, low, high, th)
        if self.logger:
            self.logger.debug("Collecting layer %s histogram of shape %s", known, arr.shape)


def _get_optimal_threshold(hist_data: Any, quantized_dtype: str, num_quantized_bins: int = 255) -> Any:
    """(least, greatest, threshold, divergence) of a histogram."""
    counts, edges, low, high, _ = hist_data
    if low >= 0 and quantized_dtype in ("auto", "uint8"):
        num_quantized_bins = num_quantized_bins * 2 + 1  # half of them are negative
    th, divergence = nd.contrib.calibrate_entropy(
        nd.array(counts), nd.array(edges), num_quantized_bins=num_quantized_bins
    )
    return low, high, th.asscalar(), divergence.asscalar()


def _get_optimal_thresholds(
    hist_dict: dict[str, Any], quantized_dtype: str, num_quantized_bins: int = 255, logger: Any = None
) -> dict[str, tuple[float, float]]:
    """Name -> range by entropy. The histograms are released."""
    found: dict[str, tuple[float, float]] = {}
    for name in list(hist_dict):
        low, high, th, divergence = _get_optimal_threshold(
            hist_dict.pop(name), quantized_dtype, num_quantized_bins
        )
        found[name] = (0.0, th) if low >= 0 and quantized_dtype in ("auto", "uint8") else (-th, th)
        if logger:
            logger.debug(
                "layer=%s, min_val=%f, max_val=%f, th=%f, divergence=%f", name, low, high, th, divergence
            )
    return found


def reach_of(weight: np.ndarray, by_rows: bool) -> np.ndarray:
    """The greatest magnitude, of all or of each row: never 0, and of no row so small that its bias could not be told
    in the step of its sums."""
    rows = np.abs(weight).reshape((weight.shape[0], -1) if by_rows else (1, -1)).max(axis=1)
    most = float(rows.max()) or 1.0
    return np.maximum(rows, most * 2.0**-12).astype(np.float32)


def make_collector(mode: str, dtype: str, wanted: dict[str, str], custom: Any, logger: Any) -> Any:
    """The collector of a mode of calibration. `wanted`: the values whose ranges are wanted, and who reads them."""
    made: CalibrationCollector
    if mode == "entropy":
        made = _LayerHistogramCollector(include_layer=list(wanted), logger=logger)
    elif mode == "naive":
        made = _LayerOutputMinMaxCollector(dtype, include_layer=list(wanted), logger=logger)
    elif mode in ("customize", "custom"):
        if custom is None or not callable(getattr(custom, "collect", None)):
            raise ValueError(
                f"[quantization] calib_mode {mode!r} needs LayerOutputCollector, an object with collect(name, arr); "
                f"it is {custom!r}."
            )
        custom.include_layer = list(wanted)
        return custom
    else:
        raise ValueError(
            f"[quantization] calib_mode is {mode!r}; expected none, naive, entropy or customize."
        )
    made.readers = wanted
    return made


def ranges_of(
    mode: str, dtype: str, collector: Any, wanted: dict[str, str], logger: Any = logging
) -> dict[str, Any]:
    """The ranges that a collector found; ValueError naming the layer without one."""
    if mode == "entropy":
        found = _get_optimal_thresholds(dict(collector.hist_dict), dtype, logger=logger)
    elif hasattr(collector, "post_collect"):
        found = collector.post_collect()
    else:
        found = collector.min_max_dict
    for name in wanted:
        if name not in found:
            raise ValueError(
                f"[quantization] no range came for {read_by(name, wanted)} since no calibration batch reached it, or "
                "it was all zero. Calibrate with other data, or exclude the layer."
            )
        low, high = (float(end) for end in found[name])
        if not (np.isfinite(low) and np.isfinite(high) and low <= high and max(abs(low), abs(high)) > 0):
            raise ValueError(
                f"[quantization] the range of {read_by(name, wanted)} is from {low} to {high}; expected finite "
                "numbers in order, not both 0. Calibrate with other data, or exclude the layer."
            )
    return found
