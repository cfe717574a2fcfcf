# SPDX-License-Identifier: Apache-2.0
"""``gluon.contrib.data``: the interval sampler and texts."""

import hashlib
import zipfile

import loomix as mx
import numpy as np
import pytest
from loomix.gluon.contrib.data import IntervalSampler
from loomix.gluon.contrib.data.text import WikiText2, WikiText103

pytestmark = pytest.mark.library

TEXT = " = Title = \n\n the cat sat on the mat <unk> . \n a second line , with words \n" * 3


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ((13, 3), [0, 3, 6, 9, 12, 1, 4, 7, 10, 2, 5, 8, 11]),
        ((13, 3, False), [0, 3, 6, 9, 12]),
        ((5, 5), [0, 1, 2, 3, 4]),
        ((6, 6, False), [0]),
        ((4, 1), [0, 1, 2, 3]),
    ],
)
def test_interval_sampler(arguments, wanted):
    sampler = IntervalSampler(*arguments)
    assert list(sampler) == list(sampler) == wanted and len(sampler) == len(wanted)


@pytest.mark.parametrize("interval", [0, -1, 4])
def test_intervals_that_are_refused(interval):
    with pytest.raises(ValueError, match=f"interval is {interval}; expected 1 to the length, which is 3"):
        IntervalSampler(3, interval)


@pytest.fixture
def folder(tmp_path):
    for part in ("train", "valid", "test"):
        (tmp_path / f"wiki.{part}.tokens").write_text(TEXT, encoding="utf-8")
    return tmp_path


def test_text(folder):
    data = WikiText2(str(folder), seq_len=7)
    words = [word for line in TEXT.splitlines() if line.strip() for word in (*line.split(), "<eos>")]
    assert len(words) == 60 and len(data) == 8
    vocabulary = data.vocabulary
    assert vocabulary.idx_to_token[:4] == ["<unk>", "<eos>", "=", "the"] and len(vocabulary) == 16
    assert data.frequencies["the"] == 6 and "<eos>" not in data.frequencies
    numbers = vocabulary.to_indices(words)
    for i in range(8):
        sample, label = data[i]
        assert sample.dtype == label.dtype == np.int32 and sample.shape == (7,)
        assert sample.asnumpy().tolist() == numbers[7 * i : 7 * i + 7]
        assert label.asnumpy().tolist() == numbers[7 * i + 1 : 7 * i + 8]
    batch, _ = next(iter(mx.gluon.data.DataLoader(data, batch_size=4)))
    assert batch.shape == (4, 7)


def test_vocabulary_of_another_part(folder):
    (folder / "wiki.valid.tokens").write_text("the dog sat\n")
    train = WikiText103(str(folder), seq_len=3)
    validation = WikiText103(str(folder), "validation", vocab=train.vocabulary, seq_len=3)
    assert validation.vocabulary is train.vocabulary and validation.frequencies["dog"] == 1
    assert validation[0][0].asnumpy().tolist() == train.vocabulary.to_indices(["the", "<unk>", "sat"])


def test_texts_that_are_refused(tmp_path, folder):
    with pytest.raises(ValueError, match="segment is 'valid'; expected one of train, validation, test"):
        WikiText2(str(folder), "valid")
    with pytest.raises(ValueError, match="seq_len is 0"):
        WikiText2(str(folder), seq_len=0)
    with pytest.raises(ValueError, match="60 tokens are too few for a sequence of 60"):
        WikiText2(str(folder), seq_len=60)
    with pytest.raises(OSError, match="neither wiki.train.tokens nor wikitext-2-v1.zip"):
        WikiText2(str(tmp_path / "none"))


def test_archive_and_download(tmp_path, monkeypatch):
    place = tmp_path / "server" / "wikitext-2"
    place.mkdir(parents=True)
    with zipfile.ZipFile(place / "wikitext-2-v1.zip", "w") as archive:
        archive.writestr("wikitext-2/wiki.test.tokens", TEXT)
    monkeypatch.setattr(WikiText2, "_address", f"file://{tmp_path}/server/")
    monkeypatch.setattr("loomix.gluon.utils.time.sleep", lambda seconds: None)
    root = str(tmp_path / "root")
    with pytest.raises(OSError, match="does not have the SHA-1 3c914d17"):
        WikiText2(root, "test", download=True)
    digest = hashlib.sha1((place / "wikitext-2-v1.zip").read_bytes()).hexdigest()
    monkeypatch.setattr(WikiText2, "_sha1", digest)
    assert len(WikiText2(root, "test", seq_len=7, download=True)) == 8
    monkeypatch.setattr(WikiText2, "_address", "file:///nowhere/")
    assert len(WikiText2(root, "test", seq_len=7, download=True)) == 8  # it is there now
    with pytest.raises(OSError, match=r"wikitext-2-v1.zip has no wiki.train.tokens"):
        WikiText2(root)
