# SPDX-License-Identifier: Apache-2.0
"""What runs when: the engine's trace, for Perfetto (or chrome://tracing) and as tables.

>>> import loomix as mx
>>> mx.profiler.set_config(filename="profile.json")
>>> mx.profiler.set_state("run")  # doctest: +SKIP
>>> mx.nd.ones((2,)).wait_to_read()
>>> mx.profiler.set_state("stop")  # doctest: +SKIP
>>> mx.profiler.dump()  # doctest: +SKIP
"""

from __future__ import annotations

import atexit
import json
import platform
import threading
import time
import warnings
from typing import TYPE_CHECKING, Any

from . import _star
from .base import MXNetNotImplementedError, MXNetTypeError, MXNetValueError
from .base import py_str as py_str

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = [
    "Counter",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Task",
    "dump",
    "dump_profile",
    "dumps",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "set_config",
    "set_kvstore_handle",
    "set_state",
]

_OPTIONS = {
    "filename": "profile.json",
    "profile_all": False,
    "profile_symbolic": False,
    "profile_imperative": False,
    "profile_memory": False,
    "profile_api": False,
    "continuous_dump": False,
    "dump_period": 1.0,
    "aggregate_stats": False,
    "profile_process": "worker",
    "gpu_memory_profile_filename_prefix": "",
}
_NO_SERVERS = "servers are not profiled from workers; `python -m loomix top` shows what they do."
_config: dict[str, Any] = dict(_OPTIONS)
_lock = threading.Lock()
_own_events: list[Any] = []  # of scope objects; emptied when a profile begins or is dumped as finished
_OWN_LIMIT = 1_000_000
_running = False
_origin = 0  # when the engine's trace began, in nanoseconds of the monotonic clock


def set_config(**kwargs: Any) -> None:
    """Sets options of the profiler.

    Parameters
    ----------
    filename : str
        File that :func:`dump` writes.
    profile_memory, profile_all : bool
        Whether the trace, and :func:`dumps`, tell how much memory of the host was in use.
    profile_symbolic, profile_imperative, profile_api, ... : bool
        MXNet's other options, accepted and kept. The trace always holds every task of the engine, and what GPUs
        did: each kernel, where CUPTI is there.

    Raises
    ------
    TypeError
        For an unknown option.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> mx.profiler.set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"), aggregate_stats=True)
    >>> mx.profiler.set_state("run")
    >>> mx.nd.ones((2, 2)).wait_to_read()
    >>> mx.profiler.set_state("stop")
    >>> "_ones" in mx.profiler.dumps(reset=True)
    True
    >>> mx.profiler.dump()  # trace.json, for Perfetto
    """
    unknown = sorted(set(kwargs) - set(_OPTIONS))
    if unknown:
        raise MXNetTypeError(f"[profiler] unknown options {unknown}; expected some of {sorted(_OPTIONS)}.")
    _check_process(kwargs.get("profile_process", "worker"))
    _config.update(kwargs)


def profiler_set_config(mode: str = "symbolic", filename: str = "profile.json") -> None:
    """An old form of :func:`set_config`.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> mx.profiler.profiler_set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"))
    >>> mx.profiler.profiler_set_state("run")
    >>> mx.profiler.profiler_set_state("stop")
    >>> mx.profiler.dump_profile()
    """
    warnings.warn("profiler_set_config is deprecated; use set_config", DeprecationWarning, stacklevel=2)
    set_config(filename=filename, profile_all=mode == "all")


def set_kvstore_handle(handle: Any) -> None:
    """Raises NotImplementedError: in MXNet it names the store whose servers a worker profiles."""
    raise MXNetNotImplementedError(f"[profiler] set_kvstore_handle: {_NO_SERVERS}")


def _check_process(profile_process: str) -> None:
    """Raises NotImplementedError for other processes than this one."""
    if profile_process == "server":
        raise MXNetNotImplementedError(f"[profiler] {_NO_SERVERS}")
    if profile_process != "worker":
        raise MXNetValueError(
            f"[profiler] profile_process is {profile_process!r}; expected 'worker' or 'server'."
        )


def set_state(state: Any = "stop", profile_process: str = "worker") -> None:
    """Starts (``"run"``) or ends (``"stop"``) the recording of a profile.

    Raises
    ------
    ValueError
        For another state.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> mx.profiler.set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"), aggregate_stats=True)
    >>> mx.profiler.set_state("run")
    >>> mx.nd.ones((2, 2)).wait_to_read()
    >>> mx.profiler.set_state("stop")
    >>> "_ones" in mx.profiler.dumps(reset=True)
    True
    >>> mx.profiler.dump()  # trace.json, for Perfetto
    """
    from . import _core

    global _running, _paused
    _check_process(profile_process)
    if state not in ("run", "stop"):
        raise MXNetValueError(f"[profiler] state is {state!r}; expected 'run' or 'stop'.")
    if state == "run" and not _running:
        with _lock:
            _own_events.clear()
        _paused = False
        _start_trace()
        _running = True
    elif state == "stop" and _running:
        _core.waitall()
        _core.trace_stop()
        _running = False


def _autostart() -> None:
    """Starts the profiler at the import, if the settings say so; what it recorded is written at the end."""
    from . import _core

    if _core.profiler_autostart():
        set_state("run")
        atexit.register(_dump_at_end)


def _dump_at_end() -> None:
    if _running:
        dump()


def _start_trace() -> None:
    from . import _core

    global _origin
    _core.trace_start(bool(_config["profile_memory"] or _config["profile_all"]))
    if _paused:
        _core.trace_stop()
    _origin = time.perf_counter_ns()


def profiler_set_state(state: Any = "stop") -> None:
    """An old form of :func:`set_state`.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> mx.profiler.profiler_set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"))
    >>> mx.profiler.profiler_set_state("run")
    >>> mx.profiler.profiler_set_state("stop")
    >>> mx.profiler.dump_profile()
    """
    warnings.warn("profiler_set_state is deprecated; use set_state", DeprecationWarning, stacklevel=2)
    set_state(state)


def pause(profile_process: str = "worker") -> None:
    """Records nothing more until :func:`resume`, or until the next profile begins. Waits for what was called before,
    which is recorded.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.profiler.pause()
    >>> mx.profiler.resume()
    """
    from . import _core

    global _paused
    _check_process(profile_process)
    if _running and not _paused:
        _core.waitall()
        _core.trace_stop()
    _paused = True


def resume(profile_process: str = "worker") -> None:
    """Ends :func:`pause`. Waits for what was called meanwhile, which is left out.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.profiler.pause()
    >>> mx.profiler.resume()
    """
    from . import _core

    global _paused
    _check_process(profile_process)
    if _running and _paused:
        _core.waitall()
        _core.trace_resume()
    _paused = False


_paused = False


def _trace() -> Any:
    """The trace as Chrome's JSON structure: the engine's events and those of scope objects."""
    from . import _core

    trace = json.loads(_core.trace_json())
    if isinstance(trace, list):
        trace = {"traceEvents": trace}
    with _lock:
        trace["traceEvents"] = trace.get("traceEvents", []) + list(_own_events)
    trace.setdefault("otherData", {}).update(host=platform.node(), boot_id=_boot_id())
    return trace


def _boot_id() -> str:
    """The same for all processes whose clocks agree to the nanosecond; "" where that cannot be told."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return ""


def dump(finished: bool = True, profile_process: str = "worker") -> None:
    """Writes the trace to the file of :func:`set_config`; with ``finished`` the profile ends, too.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> mx.profiler.set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"), aggregate_stats=True)
    >>> mx.profiler.set_state("run")
    >>> mx.nd.ones((2, 2)).wait_to_read()
    >>> mx.profiler.set_state("stop")
    >>> "_ones" in mx.profiler.dumps(reset=True)
    True
    >>> mx.profiler.dump()  # trace.json, for Perfetto
    """
    _check_process(profile_process)
    if finished:
        set_state("stop")
    with open(_config["filename"], "w", encoding="utf-8") as file:
        json.dump(_trace(), file)


def dump_profile() -> None:
    """An old form of :func:`dump`.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> mx.profiler.profiler_set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"))
    >>> mx.profiler.profiler_set_state("run")
    >>> mx.profiler.profiler_set_state("stop")
    >>> mx.profiler.dump_profile()
    """
    warnings.warn("dump_profile is deprecated; use dump", DeprecationWarning, stacklevel=2)
    dump()


_SORTS = {"total": "Total", "avg": "Avg", "min": "Min", "max": "Max", "count": "Count"}


def dumps(reset: bool = False, format: str = "table", sort_by: str = "total", ascending: bool = False) -> Any:
    """Time by operator: of those on GPUs the device's.

    Parameters
    ----------
    reset : bool
        Whether what was recorded so far is forgotten.
    format : {"table", "json"}
        Form of the result.
    sort_by : {"total", "avg", "min", "max", "count"}
        Column that orders it.
    ascending : bool
        Whether the smallest comes first.

    Returns
    -------
    str
        Times are milliseconds.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> mx.profiler.set_config(filename=os.path.join(tempfile.mkdtemp(), "trace.json"), aggregate_stats=True)
    >>> mx.profiler.set_state("run")
    >>> mx.nd.ones((2, 2)).wait_to_read()
    >>> mx.profiler.set_state("stop")
    >>> "_ones" in mx.profiler.dumps(reset=True)
    True
    >>> mx.profiler.dump()  # trace.json, for Perfetto
    """
    if format not in ("table", "json"):
        raise MXNetValueError(f"[profiler] format is {format!r}; expected 'table' or 'json'.")
    if sort_by not in _SORTS:
        raise MXNetValueError(f"[profiler] sort_by is {sort_by!r}; expected one of {', '.join(_SORTS)}.")
    durations: dict[Any, Any] = {}
    memory: dict[Any, Any] = {}
    for event in _trace()["traceEvents"]:
        if event.get("ph") == "X":
            category = durations.setdefault(_category(event), {})
            category.setdefault(event["name"], []).append(event["dur"] / 1000)
        elif event.get("cat") == "memory":
            category = memory.setdefault("Device Storage", {})
            category.setdefault(event["name"], []).append(event["args"]["bytes"] / 1000)
    if reset:
        _forget()
    column = _SORTS[sort_by]
    time_table = _statistics(durations, column, ascending)
    memory_table = _statistics(memory, column, ascending, with_total=False)
    if format == "json":
        units = {"Time": "ms", "Memory": "kB"}
        return json.dumps({"Time": time_table, "Memory": memory_table, "Unit": units}, indent=4)
    return "\n".join(
        ["", "Profile Statistics:", *_lines(time_table, "Time (ms)"), *_lines(memory_table, "Use (kB)")]
    )


def _category(event: Any) -> str:
    """MXNet's name of a kind of events: what operators written in Python call has their names before it.

    The time of an operator on a device is the device's. The host only put it on a stream: that is the kind "issue".
    """
    if event.get("cat") not in _ENGINE_CATEGORIES:
        return event.get("cat") or "operator"
    return "Custom Operator" if "::" in event["name"] else "operator"


_ENGINE_CATEGORIES = ("task", "asynchronous", "device")


def _statistics(found: Any, column: str, ascending: bool, with_total: bool = True) -> dict[str, Any]:
    """By kind and name: count, sum, extremes and mean of the numbers found."""
    table = {}
    for category, names in sorted(found.items()):
        rows = {}
        for name, numbers in names.items():
            rows[name] = {"Count": len(numbers)}
            if with_total:
                rows[name]["Total"] = sum(numbers)
            rows[name].update(Min=min(numbers), Max=max(numbers), Avg=sum(numbers) / len(numbers))
        order = sorted(rows.items(), key=lambda row: row[1].get(column, 0), reverse=not ascending)
        table[category] = dict(order)
    return table


def _lines(table: dict[str, Any], what: str) -> list[str]:
    lines = []
    unit = what.split()[-1]
    for category, rows in table.items():
        columns = [name for name in ("Total", "Min", "Max", "Avg") if all(name in r for r in rows.values())]
        titles = [what if name == "Total" else f"{name} {unit}" for name in columns]
        lines += [category, "=" * len(category)]
        lines.append(f"{'Name':<40} {'Count':>10} " + " ".join(f"{title:>12}" for title in titles))
        for name, row in rows.items():
            numbers = " ".join(f"{row[column]:12.4f}" for column in columns)
            lines.append(f"{_short(name):<40} {row['Count']:>10} {numbers}")
        lines.append("")
    return lines


def _short(name: str) -> str:
    """Kernels' names have hundreds of characters; the trace and the JSON form have the whole."""
    return name if len(name) <= _NAME_LIMIT else f"{name[: _NAME_LIMIT - 33]}...{name[-30:]}"


_NAME_LIMIT = 100


def _forget() -> None:
    from . import _core

    with _lock:
        _own_events.clear()
    if _running:
        _core.trace_stop()
        _start_trace()


def _record(**event: Any) -> None:
    if _running and not _paused:
        with _lock:
            if len(_own_events) < _OWN_LIMIT:
                _own_events.append({"pid": 0, "tid": threading.current_thread().name, **event})


def _now() -> float:
    """Microseconds on the clock of the engine's trace."""
    return (time.perf_counter_ns() - _origin) / 1000


class Domain:
    """A name under which scope objects are grouped.

    >>> task = Domain("training").new_task("epoch")
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __str__(self) -> str:
        return self.name

    def new_task(self, name: str) -> Any:
        """A :class:`Task` of this domain."""
        return Task(self, name)

    def new_frame(self, name: str) -> Any:
        """A :class:`Frame` of this domain."""
        return Frame(self, name)

    def new_counter(self, name: str, value: Any = None) -> Any:
        """A :class:`Counter` of this domain."""
        return Counter(self, name, value)

    def new_marker(self, name: str) -> Any:
        """A :class:`Marker` of this domain."""
        return Marker(self, name)


class _Span:
    """A stretch of time between ``start`` and ``stop``, or in a ``with`` statement."""

    def __init__(self, category: str, name: str) -> None:
        self.name = name
        self._category = category
        self._began: Any = None

    def start(self) -> None:
        """Begins the stretch."""
        self._began = _now()

    def stop(self) -> None:
        """Ends it."""
        if self._began is not None:
            _record(ph="X", cat=self._category, name=self.name, ts=self._began, dur=_now() - self._began)
            self._began = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exc_info: Any) -> None:
        self.stop()

    def __str__(self) -> str:
        return self.name


class Task(_Span):
    """A named piece of work of a domain.

    Examples
    --------
    >>> import loomix as mx
    >>> task = mx.profiler.Task(mx.profiler.Domain("training"), "augmentation")
    >>> task.start()
    >>> task.stop()
    """

    def __init__(self, domain: Any, name: str) -> None:
        super().__init__(str(domain), name)


class Frame(_Span):
    """One round of something that repeats, of a domain.

    Examples
    --------
    >>> import loomix as mx
    >>> frame = mx.profiler.Frame(mx.profiler.Domain("training"), "epoch")
    >>> frame.start()
    >>> frame.stop()
    """

    def __init__(self, domain: Any, name: str) -> None:
        super().__init__(str(domain), name)


class Event(_Span):
    """A named piece of work of a thread.

    Examples
    --------
    >>> import loomix as mx
    >>> event = mx.profiler.Event("augmentation")
    >>> event.start()
    >>> event.stop()
    """

    def __init__(self, name: str) -> None:
        super().__init__("event", name)


class Counter:
    """A number that is drawn over time.

    >>> counter = Domain("training").new_counter("samples", 0)
    >>> counter += 64
    """

    def __init__(self, domain: Any, name: str, value: Any = None) -> None:
        self.name = name
        self._category = str(domain)
        self._value = 0
        if value is not None:
            self.set_value(value)

    def set_value(self, value: Any) -> None:
        """Sets the number."""
        self._value = value
        _record(ph="C", cat=self._category, name=self.name, ts=_now(), args={self.name: value})

    def increment(self, delta: Any = 1) -> None:
        """Adds to it."""
        self.set_value(self._value + delta)

    def decrement(self, delta: Any = 1) -> None:
        """Takes from it."""
        self.set_value(self._value - delta)

    def __iadd__(self, delta: Any) -> Any:
        self.increment(delta)
        return self

    def __isub__(self, delta: Any) -> Any:
        self.decrement(delta)
        return self

    def __str__(self) -> str:
        return self.name


class Marker:
    """A point in time.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.profiler.Marker(mx.profiler.Domain("training"), "epoch ends").mark("process")
    """

    def __init__(self, domain: Any, name: str) -> None:
        self.name = name
        self._category = str(domain)

    def mark(self, scope: Any = "process") -> None:
        """Sets the mark, for ``"global"``, ``"process"``, ``"thread"``, ``"task"`` or ``"marker"``."""
        letter = {"global": "g", "process": "p"}.get(scope, "t")
        _record(ph="i", cat=self._category, name=self.name, ts=_now(), s=letter)


_star.complete(
    globals(), "KVStoreHandle ProfileHandle c_str c_str_array check_call ctypes py_str warnings", "_LIB"
)
