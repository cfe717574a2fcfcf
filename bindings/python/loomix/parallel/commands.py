# SPDX-License-Identifier: Apache-2.0
"""Commands of the rank that drives, in the format of Protocol Buffers (commands.proto).

What comes is checked field by field: whatever the bytes are, reading them gives a command or a ValueError.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass
class LayoutValue:
    """A layout as it travels."""

    row_cuts: list[int] = field(default_factory=list)
    column_cuts: list[int] = field(default_factory=list)
    owners: list[int] = field(default_factory=list)
    copies: int = 0
    name: str = ""


@dataclass
class ArrayValue:
    """A vector as it travels."""

    dtype: str = ""
    shape: list[int] = field(default_factory=list)
    data: bytes = b""


class MatrixName(NamedTuple):
    """A matrix by the number that it was given."""

    number: int


@dataclass
class Argument:
    """One field is set, or none."""

    matrix: int | None = None
    layout: LayoutValue | None = None
    number: float | None = None
    integer: int | None = None
    text: str | None = None
    flag: bool | None = None
    array: ArrayValue | None = None


@dataclass
class Command:
    """An operation, what it works on, and what its result is called."""

    number: int = 0
    operation: str = ""
    result: int = 0
    forgotten: list[int] = field(default_factory=list)
    arguments: list[Argument] = field(default_factory=list)


class _Field(NamedTuple):
    name: str
    kind: Any  # "uint", "sint", "double", "text", "bytes", "flag", or a class
    repeated: bool = False


# By the fields' numbers, as commands.proto says them.
_FIELDS: dict[type, dict[int, _Field]] = {
    LayoutValue: {
        1: _Field("row_cuts", "uint", True),
        2: _Field("column_cuts", "uint", True),
        3: _Field("owners", "uint", True),
        4: _Field("copies", "uint"),
        5: _Field("name", "text"),
    },
    ArrayValue: {1: _Field("dtype", "text"), 2: _Field("shape", "uint", True), 3: _Field("data", "bytes")},
    Argument: {
        1: _Field("matrix", "uint"),
        2: _Field("layout", LayoutValue),
        3: _Field("number", "double"),
        4: _Field("integer", "sint"),
        5: _Field("text", "text"),
        6: _Field("flag", "flag"),
        7: _Field("array", ArrayValue),
    },
    Command: {
        1: _Field("number", "uint"),
        2: _Field("operation", "text"),
        3: _Field("result", "uint"),
        4: _Field("forgotten", "uint", True),
        5: _Field("arguments", Argument, True),
    },
}
_VARINT, _FIXED64, _BYTES = 0, 1, 2
_FORM = {"uint": _VARINT, "sint": _VARINT, "flag": _VARINT, "double": _FIXED64}


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _one(kind: Any, value: Any) -> bytes:
    if kind in ("uint", "flag"):
        return _varint(int(value))
    if kind == "sint":
        return _varint((value << 1 ^ value >> 63) & (1 << 64) - 1)
    if kind == "double":
        return struct.pack("<d", value)
    body = value.encode() if kind == "text" else value if kind == "bytes" else write(value)
    return _varint(len(body)) + body


def write(message: Any) -> bytes:
    """Of one of the classes above."""
    out = bytearray()
    for number, one in _FIELDS[type(message)].items():
        value = getattr(message, one.name)
        if one.repeated and one.kind == "uint":
            packed = b"".join(_varint(item) for item in value)
            if packed:
                out += _varint(number << 3 | _BYTES) + _varint(len(packed)) + packed
        elif value is not None:
            for item in value if one.repeated else [value]:
                out += _varint(number << 3 | _FORM.get(one.kind, _BYTES)) + _one(one.kind, item)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, count: int) -> bytes:
        if count > len(self.data) - self.at:
            raise ValueError(f"{count} bytes are said to come, and {len(self.data) - self.at} are there")
        self.at += count
        return self.data[self.at - count : self.at]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value >= 1 << 64:
                    break
                return value
        raise ValueError("a number has more than 64 bits")

    def fields(self) -> Iterator[tuple[int, int, Any]]:
        while self.at < len(self.data):
            key = self.varint()
            number, form = key >> 3, key & 7
            if form == _VARINT:
                yield number, form, self.varint()
            elif form in (_FIXED64, 5):
                yield number, form, self.take(8 if form == _FIXED64 else 4)
            elif form == _BYTES:
                yield number, form, self.take(self.varint())
            else:
                raise ValueError(f"field {number} is of form {form}, which there is not")


def _value(kind: Any, raw: Any) -> Any:
    if kind == "sint":
        return raw >> 1 ^ -(raw & 1)
    if kind == "flag":
        return raw != 0
    if kind == "double":
        return struct.unpack("<d", raw)[0]
    if kind == "text":
        return raw.decode()  # UnicodeDecodeError is a ValueError
    return raw if kind in ("uint", "bytes") else _message(kind, raw)


def _message(kind: type, data: bytes) -> Any:
    message = kind()
    for number, form, raw in _Reader(data).fields():
        one = _FIELDS[kind].get(number)
        if one is None:
            continue  # of a later version
        if one.repeated and one.kind == "uint" and form == _BYTES:
            packed = _Reader(raw)
            while packed.at < len(raw):
                getattr(message, one.name).append(packed.varint())
            continue
        expected = _FORM.get(one.kind, _BYTES)
        if form != expected:
            raise ValueError(f"{one.name} is of form {form}; expected {expected}")
        if one.repeated:
            getattr(message, one.name).append(_value(one.kind, raw))
        else:
            setattr(message, one.name, _value(one.kind, raw))
    return message


def read(data: bytes) -> Command:
    """A command; ValueError if these bytes are none."""
    try:
        return _message(Command, data)
    except ValueError as error:
        raise ValueError(f"[driver] a command of {len(data)} bytes is damaged: {error}.") from None
