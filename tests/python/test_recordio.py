# SPDX-License-Identifier: Apache-2.0
"""mx.recordio: the files MXNet writes and reads, without the engine."""

import http.server
import os
import pickle
import random
import struct
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from loomix import recordio
from loomix.base import MXNetError, StateError

FIXTURES = Path(__file__).parent.parent / "compat" / "files" / "record"
MAGIC = bytes.fromhex("0a23d7ce")


def random_records(count, most=2000, seed=0):
    draw = random.Random(seed)
    records = [draw.randbytes(draw.randrange(most)) for _ in range(count)]
    records[1::7] = [MAGIC * 3 + r[:5] + MAGIC + r for r in records[1::7]]
    return records


@pytest.fixture
def files(tmp_path):
    """An indexed file with keys 3, 5, 7, ...: (path without ending, records)."""
    records = random_records(50)
    path = str(tmp_path / "r")
    writer = recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w")
    for i, record in enumerate(records):
        writer.write_idx(2 * i + 3, record)
    writer.close()
    return path, records


def indexed(path, **arguments):
    return recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "r", **arguments)


def test_writes_and_reads_in_order_and_by_key(files):
    path, records = files
    reader = indexed(path)
    assert list(reader) == records
    assert reader.read() is None
    assert reader.keys == [2 * i + 3 for i in range(50)] and reader.idx[3] == 0
    keys = list(enumerate(reader.keys))
    random.Random(1).shuffle(keys)
    assert all(reader.read_idx(key) == records[i] for i, key in keys)
    reader.seek(7)
    assert reader.read() == records[2] and reader.read() == records[3]
    reader.reset()
    assert reader.read() == records[0] and reader.offset == 0


def test_reset_sees_what_became_of_the_file(files):
    path, records = files
    reader = recordio.MXRecordIO(path + ".rec", "r")
    reader.reset()
    assert list(reader) == records
    with open(path + ".rec", "ab") as file:
        file.write(struct.pack("<II", 0xCED7230A, 3) + b"new\0")
    reader.reset()
    assert list(reader) == records + [b"new"]
    with recordio.MXRecordIO(path + ".other", "w") as writer:
        writer.write(b"other")
    os.replace(path + ".other", path + ".rec")
    reader.reset()
    assert list(reader) == [b"other"]
    os.remove(path + ".rec")
    with pytest.raises(OSError, match="No such file"):
        reader.reset()
    with pytest.raises(StateError, match="closed"):
        reader.read()


def test_tell_and_reset_while_writing(tmp_path):
    writer = recordio.MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "w")
    for i in range(3):
        assert writer.tell() == 16 * i
        writer.write_idx(i, b"record_%d" % i if i else bytearray(b"record_0"))
    writer.flush()
    assert (tmp_path / "r").stat().st_size == 48
    writer.reset()  # empties both files
    writer.write_idx(9, b"")
    writer.close()
    writer.close()
    assert (tmp_path / "i").read_text() == "9\t0\n" and (tmp_path / "r").stat().st_size == 8


def test_what_was_written_is_there_without_close(tmp_path):
    writer = recordio.MXRecordIO(str(tmp_path / "r"), "w")
    writer.write(memoryview(b"abc"))
    del writer
    assert recordio.MXRecordIO(str(tmp_path / "r"), "r").read() == b"abc"


def test_other_types_of_keys(tmp_path):
    arguments = tmp_path / "i", tmp_path / "r"
    with recordio.MXIndexedRecordIO(*arguments, "w", key_type=str) as writer:
        writer.write_idx("cat", b"1")
        writer.write_idx("a dog", b"2")
    assert recordio.MXIndexedRecordIO(*arguments, "r", key_type=str).read_idx("a dog") == b"2"


def test_pack_and_unpack():
    header, rest = recordio.unpack(recordio.pack(recordio.IRHeader(9, 4.5, 2574, 7), b"abc"))
    assert header == (0, 4.5, 2574, 7) and rest == b"abc" and header._fields == ("flag", "label", "id", "id2")
    for labels in ([1, 2, 3], np.arange(4), ()):
        header, rest = recordio.unpack(recordio.pack((0, labels, 1, 0), b"abc"))
        assert header.flag == len(labels) and rest == b"abc"
        if len(labels):
            assert header.label.dtype == np.float32 and list(header.label) == list(labels)
    good = recordio.pack((0, [1, 2], 1, 0), b"")
    for size in range(len(good)):
        with pytest.raises(MXNetError, match="recordio.unpack"):
            recordio.unpack(good[:size])


def test_pack_img():
    y, x = np.mgrid[:40, :30]
    colour = np.stack([x * 8, y * 6, 255 - x * 8], axis=2).astype(np.uint8)
    for image in (colour, colour[:, :, 0], np.dstack([colour, colour[:, :, 1]])):
        header, back = recordio.unpack_img(recordio.pack_img((0, 3, 8, 0), image, quality=3, img_fmt=".png"))
        assert header == (0, 3, 8, 0) and back.flags.writeable
        np.testing.assert_array_equal(back, image)
    header, back = recordio.unpack_img(recordio.pack_img((0, [1, 2], 8, 0), colour))
    assert list(header.label) == [1, 2]
    assert np.abs(back.astype(int) - colour).max() < 12
    record = recordio.pack_img((0, 0, 0, 0), colour[:, ::-1], quality=40, img_fmt=".JPEG")
    assert recordio.unpack_img(record, 0)[1].shape == (40, 30)
    assert recordio.unpack_img(record, 1)[1].shape == (40, 30, 3)
    for bad in (colour.astype(np.float32), colour[0, 0], colour[:, :, :2]):
        with pytest.raises(ValueError, match="recordio.pack_img"):
            recordio.pack_img((0, 0, 0, 0), bad)
    with pytest.raises(ValueError, match="img_fmt is '.gif'"):
        recordio.pack_img((0, 0, 0, 0), colour, img_fmt=".gif")
    with pytest.raises(ValueError, match="iscolor is 7"):
        recordio.unpack_img(record, 7)
    with pytest.raises(OSError, match="decode_image"):
        recordio.unpack_img(record[:100])


def test_pickling(files):
    path, records = files
    reader = indexed(path)
    reader.read()
    copy = pickle.loads(pickle.dumps(reader))
    assert copy.read() == records[0] and copy.read_idx(5) == records[1]
    assert reader.read() == records[1]  # the original goes on
    reader.close()
    assert not pickle.loads(pickle.dumps(reader)).is_open
    writer = recordio.MXRecordIO(path + "2", "w")
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(writer)


def test_fork(files):
    path, records = files
    reader = indexed(path)
    reader.read()
    writer = recordio.MXRecordIO(path + "2", "w")
    writer.write(b"parent")
    child = os.fork()
    if child == 0:
        failed = 0
        for function in (reader.read, lambda: writer.write(b"child")):
            try:
                function()
            except RuntimeError as error:
                failed += "forked" in str(error)
        right = reader.read_idx(9) == records[3] and reader.read() == records[4]
        writer.close()
        os._exit(0 if failed == 2 and right else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert reader.read() == records[1]
    writer.close()
    assert list(recordio.MXRecordIO(path + "2", "r")) == [b"parent"]


def test_threads_share_a_reader(files):
    path, records = files
    reader = indexed(path)
    wrong = []

    def work(seed):
        draw = random.Random(seed)
        for _ in range(2000):
            i = draw.randrange(len(records))
            if reader.read_idx(2 * i + 3) != records[i]:
                wrong.append(i)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not wrong


def test_errors(files, tmp_path):
    path, _ = files
    with pytest.raises(OSError, match="no/such"):
        recordio.MXRecordIO("no/such", "r")
    with pytest.raises(OSError, match="missing.idx"):
        recordio.MXIndexedRecordIO(str(tmp_path / "missing.idx"), path + ".rec", "r")
    with pytest.raises(ValueError, match="Invalid flag"):
        recordio.MXRecordIO(path + ".rec", "a")
    with pytest.raises(ValueError, match="on_damage"):
        recordio.MXRecordIO(path + ".rec", "r", on_damage="ignore")
    reader = indexed(path)
    with pytest.raises(KeyError, match="no key 4"):
        reader.read_idx(4)
    with pytest.raises(MXNetError, match="open for reading"):
        reader.write(b"")
    with pytest.raises(MXNetError, match="open for reading"):
        reader.tell()
    reader.close()
    with pytest.raises(MXNetError, match="closed"):
        reader.read()
    with pytest.raises(TypeError):
        recordio.MXRecordIO(path + "2", "w").write("text")
    (tmp_path / "bad.idx").write_text("0\t0\nx\t8\n")
    for key_type in (int, float):
        with pytest.raises(OSError, match="bad.idx, line 2"):
            recordio.MXIndexedRecordIO(tmp_path / "bad.idx", path + ".rec", "r", key_type=key_type)


@pytest.mark.parametrize("offset", [2, 4, 1 << 40, -1])
def test_wrong_index_entries(files, offset):
    path, records = files
    reader = indexed(path)
    reader.idx[5] = offset
    with pytest.raises((MXNetError, OverflowError)) as error:
        reader.read_idx(5)
    assert offset < 0 or f"begins at offset {offset}" in str(error.value)
    assert reader.read_idx(7) == records[2]


def test_damage(files):
    path, records = files
    damaged = bytearray(Path(path + ".rec").read_bytes())
    offset = indexed(path).idx[9]
    damaged[offset] ^= 1
    Path(path + ".rec").write_bytes(damaged[:-6])
    reader = indexed(path)
    for record in records[:3]:
        assert reader.read() == record
    with pytest.raises(OSError, match=rf"r.rec, offset {offset}: expected the magic number"):
        reader.read()
    assert reader.read() == records[4]
    reader = indexed(path, on_damage="skip")
    assert list(reader) == records[:3] + records[4:-1]
    assert [d[0] for d in reader.damages] == [offset, reader.idx[101]] and reader.damage_count == 2
    assert "the file ends" in reader.damages[1][2]


def test_several_files_and_parts(files, tmp_path):
    path, records = files
    other = str(tmp_path / "other.rec")
    more = random_records(30, seed=1)
    with recordio.MXRecordIO(other, "w") as writer:
        for record in more:
            writer.write(record)
    both = recordio.RecordFiles([path + ".rec", Path(other)])
    assert list(both) == records + more and both.read() is None and both.file == other
    both.reset()
    assert both.read() == records[0] and (both.file, both.offset) == (path + ".rec", 0)
    for count in (1, 3, 200):
        parts = [list(recordio.RecordFiles([path + ".rec", other], i, count)) for i in range(count)]
        assert sum(parts, []) == records + more
        assert count == 200 or all(parts)
    assert list(recordio.RecordFiles(path + ".rec", num_parts=2))[0] == records[0]
    with pytest.raises(ValueError, match="part_index 2 of num_parts 2"):
        recordio.RecordFiles(other, 2, 2)
    with pytest.raises(ValueError, match="no record file"):
        recordio.RecordFiles([])
    with pytest.raises(ValueError, match="on_damage is 'stop'"):
        recordio.RecordFiles(other, on_damage="stop")
    with pytest.raises(OSError, match="missing.rec"):
        list(recordio.RecordFiles([other, str(tmp_path / "missing.rec")]))
    damaged = bytearray(Path(other).read_bytes())
    damaged[0] ^= 1
    Path(other).write_bytes(damaged)
    with pytest.raises(OSError, match="other.rec, offset 0"):
        list(recordio.RecordFiles([path + ".rec", other]))
    rest = recordio.RecordFiles([path + ".rec", other], on_damage="skip")
    assert list(rest) == records + more[1:] and rest.damage_count == 1


@pytest.mark.parametrize("folder", [None, "/dev/shm"])
def test_shrinking_file(folder, tmp_path):
    if folder and not os.access(folder, os.W_OK):
        pytest.skip("there is no /dev/shm to write to")
    path = str(tmp_path / "r") if folder is None else f"{folder}/loomix-test-{os.getpid()}"
    try:
        with recordio.MXIndexedRecordIO(path + ".idx", path + ".rec", "w") as writer:
            for i in range(1000):
                writer.write_idx(i, b"x" * 10_000)
        reader = indexed(path)
        assert len(reader.read_idx(999)) == 10_000
        os.truncate(path + ".rec", 5_000_000)
        with pytest.raises(OSError, match="r.rec|loomix-test"):
            reader.read_idx(800)
        with pytest.raises(OSError):
            for i in range(400, 600):
                reader.read_idx(i)
    finally:
        for ending in (".idx", ".rec"):
            os.unlink(path + ending)


def test_from_a_pipe(files):
    path, records = files
    code = (
        "import sys; from loomix import recordio\n"
        "print(sum(len(r) for r in recordio.MXRecordIO('-', 'r')), 'numpy' in sys.modules)"
    )
    with open(path + ".rec", "rb") as file:
        cat = subprocess.Popen(["cat"], stdin=file, stdout=subprocess.PIPE)
        out = subprocess.run(
            [sys.executable, "-c", code], stdin=cat.stdout, capture_output=True, text=True, timeout=60
        )
        cat.stdout.close()
        cat.wait()
    assert out.stdout.split() == [str(sum(map(len, records))), "False"], out.stderr


def test_import_is_light():
    code = "import sys, loomix.recordio; print(*(name in sys.modules for name in ('loomix._core', 'numpy')))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert out.stdout.split() == ["False", "False"], out.stderr


class RangeHandler(http.server.BaseHTTPRequestHandler):
    """Serves `server.body` by ranges; `server.faults` is what the next requests suffer."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        fault = self.server.faults.pop(0) if self.server.faults else None
        self.server.requests += 1
        body = self.server.body
        if fault == "close":
            self.close_connection = True
            return
        if isinstance(fault, int):
            self.answer(fault, b"")
            return
        if self.path == "/missing":
            self.answer(404, b"")
            return
        if fault == "whole" or "Range" not in self.headers:
            self.answer(200, body)
            return
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        first, last = int(first), min(int(last), len(body) - 1)
        if first >= len(body):
            self.answer(416, b"")
            return
        piece = body[first : last + 1]
        self.answer(206, piece[: len(piece) // 2] if fault == "cut" else piece, len(piece),
                    [("Content-Range", f"bytes {first}-{last}/{len(body)}"), ("ETag", self.server.etag)])  # fmt: skip

    def answer(self, status, body, length=None, headers=()):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = length is not None and length != len(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), RangeHandler)
    server.body, server.faults, server.etag, server.requests = b"", [], '"1"', 0
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()


def http_reader(address):
    try:
        return recordio.MXRecordIO(address, "r")
    except NotImplementedError as error:
        pytest.skip(str(error))


def test_http(files, server):
    path, records = files
    big = records + [b"y" * 5_000_000] * 2 + records
    with recordio.MXRecordIO(path + ".big", "w") as writer:
        for record in big:
            writer.write(record)
    server.body = Path(path + ".big").read_bytes()
    assert list(http_reader(server.address + "/r.rec")) == big
    assert server.requests <= 8  # 4 MB each
    reader = recordio.MXIndexedRecordIO(path + ".idx", server.address + "/r.rec", "r")
    before = server.requests
    assert reader.read_idx(23) == records[10] and reader.read_idx(3) == records[0]
    assert server.requests <= before + 2
    server.body = b""
    assert http_reader(server.address).read() is None


def test_http_tries_again(files, server):
    path, records = files
    server.body = Path(path + ".rec").read_bytes()
    server.faults = [503, "close", "cut", 429]
    assert list(http_reader(server.address)) == records
    assert not server.faults


def test_http_errors(files, server):
    path, records = files
    server.body = Path(path + ".rec").read_bytes()
    http_reader(server.address).close()
    with pytest.raises(OSError, match="answered 404"):
        http_reader(server.address + "/missing")
    server.faults = ["whole"]
    with pytest.raises(OSError, match="does not serve byte ranges"):
        http_reader(server.address)
    server.faults = [500] * 6
    with pytest.raises(ConnectionError, match="the server answered 500; tries: 6"):
        http_reader(server.address)
    reader = recordio.MXIndexedRecordIO(path + ".idx", server.address, "r")
    server.etag = '"2"'
    with pytest.raises(OSError, match="changed while it was read"):
        reader.read_idx(3)


def test_fixtures_of_mxnet(tmp_path):
    raw = FIXTURES / "raw.rec"
    records = list(recordio.MXRecordIO(raw, "r"))
    assert MAGIC * 3 in records and b"" in records
    with recordio.MXRecordIO(tmp_path / "r", "w") as writer:
        for record in records:
            writer.write(record)
    assert (tmp_path / "r").read_bytes() == raw.read_bytes()
    reader = recordio.MXIndexedRecordIO(FIXTURES / "images.idx", FIXTURES / "images.rec", "r")
    wanted = np.load(FIXTURES / "images_bgr.npy")
    for i in (0, 5, 10, 15):
        pixels = recordio.unpack_img(reader.read_idx(i))[1]
        assert np.abs(pixels.astype(int) - wanted[i // 5]).max() <= 1
    for name in ("images", "multilabel"):
        reader = recordio.MXIndexedRecordIO(FIXTURES / f"{name}.idx", FIXTURES / f"{name}.rec", "r")
        with recordio.MXIndexedRecordIO(tmp_path / "i", tmp_path / "r", "w") as writer:
            for key in reader.keys:
                header, content = recordio.unpack(reader.read_idx(key))
                writer.write_idx(key, recordio.pack(header, content))
        assert (tmp_path / "i").read_bytes() == (FIXTURES / f"{name}.idx").read_bytes()
        assert (tmp_path / "r").read_bytes() == (FIXTURES / f"{name}.rec").read_bytes()
