# SPDX-License-Identifier: Apache-2.0
"""Metrics for TensorBoard, in event files that this module writes itself.

An event file is a sequence of records: length (8 bytes), checksum of the length, data, checksum of the data. The data
are protocol buffers of the type ``Event``; of its fields only the time, the step and simple values are used. Checksums
are CRC-32C, rotated and shifted so that those of checksums are of use, too.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from typing import Any

__all__ = ["EventFile", "LogMetricsCallback"]


def _crc_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        table.append(byte)
    return table


_TABLE = _crc_table()


def masked_crc(data: bytes) -> int:
    """The checksum of an event file's records.

    >>> hex(masked_crc(b"123456789"))
    '0xc78ab0e5'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def _number(value: int) -> bytes:
    """A protocol buffer's integer: seven bits a byte, the lowest first."""
    out = bytearray()
    while True:
        value, low = value >> 7, value & 0x7F
        out.append(low | (0x80 if value else 0))
        if not value:
            return bytes(out)


def _field(number: int, data: bytes) -> bytes:
    return _number(number << 3 | 2) + _number(len(data)) + data


class EventFile:
    """A file of scalars over steps, for TensorBoard.

    Parameters
    ----------
    folder : str
        Where the file is made; it gets a name of its own.
    """

    _count = 0

    def __init__(self, folder: str) -> None:
        os.makedirs(folder, exist_ok=True)
        EventFile._count += 1
        name = f"events.out.tfevents.{int(time.time()):010d}.{socket.gethostname()}.{os.getpid()}.{EventFile._count}"
        self.path = os.path.join(folder, name)
        self._file = open(self.path, "ab")
        self._write(_field(3, b"brain.Event:2"))

    def _write(self, what: bytes) -> None:
        event = b"\x09" + struct.pack("<d", time.time()) + what  # field 1: the time
        length = struct.pack("<Q", len(event))
        record = length + struct.pack("<I", masked_crc(length)) + event + struct.pack("<I", masked_crc(event))
        self._file.write(record)
        self._file.flush()

    def add_scalar(self, tag: str, value: float, step: int = 0) -> None:
        """Adds a number under a name."""
        # A summary of one value: its name is field 1, the number field 2.
        number = _field(1, tag.encode()) + b"\x15" + struct.pack("<f", value)
        self._write(b"\x10" + _number(step) + _field(5, _field(1, number)))

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


class LogMetricsCallback:
    """A callback for the end of batches, epochs or evaluations that writes the metric for TensorBoard.

    Parameters
    ----------
    logging_dir : str
        Folder for the event file; TensorBoard is started with ``--logdir`` of it.
    prefix : str, optional
        What stands before the metric's name, with a hyphen.

    Examples
    --------
    >>> import loomix as mx
    >>> callback = mx.contrib.tensorboard.LogMetricsCallback("logs/train")  # doctest: +SKIP
    >>> module.fit(batches, num_epoch=2, batch_end_callback=[callback])  # doctest: +SKIP
    """

    def __init__(self, logging_dir: str, prefix: str | None = None) -> None:
        self.prefix = prefix
        self.step = 0
        self.summary_writer = EventFile(logging_dir)

    def __call__(self, param: Any) -> None:
        self.step += 1
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, self.step)
