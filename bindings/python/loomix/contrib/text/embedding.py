# SPDX-License-Identifier: Apache-2.0
"""Vectors that stand for tokens, from files of them."""

from __future__ import annotations

import os
import warnings
import zipfile
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np

from ... import _star
from ... import ndarray as nd
from ...base import (
    AssertedError,
    MXNetFileError,
    MXNetKeyError,
    MXNetTypeError,
    MXNetValueError,
    as_list,
    data_dir,
    suggest,
)
from ...util import is_np_array as is_np_array
from . import vocab

__all__ = [
    "CompositeEmbedding",
    "CustomEmbedding",
    "FastText",
    "GloVe",
    "create",
    "get_pretrained_file_names",
    "register",
]

_classes: dict[str, Any] = {}


def register(embedding_cls: type) -> type:
    """Class decorator: makes :func:`create` know a class of vectors by its name in lower case.

    Examples
    --------
    >>> import loomix as mx
    >>> embedding = mx.contrib.text.embedding
    >>> @embedding.register
    ... class Letters(embedding.CustomEmbedding):
    ...     pass
    """
    if not (isinstance(embedding_cls, type) and issubclass(embedding_cls, _TokenEmbedding)):
        raise MXNetTypeError(f"[register] {embedding_cls!r} is not derived from _TokenEmbedding.")
    _classes[embedding_cls.__name__.lower()] = embedding_cls
    return embedding_cls


def _class(name: str) -> Any:
    if name.lower() not in _classes:
        raise MXNetKeyError(f"[embedding] {name!r} is not registered. {suggest(name, _classes)}")
    return _classes[name.lower()]


def create(embedding_name: str, **kwargs: Any) -> Any:
    """Vectors by the name of their class, for example ``"glove"``; the arguments are those of the class.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "vectors.txt")
    >>> with open(name, "w") as file:
    ...     _ = file.write("hello 1 2\\nworld 3 4\\n")
    >>> embedding = mx.contrib.text.embedding
    >>> embedding.create("customembedding", pretrained_file_path=name).vec_len
    2
    """
    return _class(embedding_name)(**kwargs)


def get_pretrained_file_names(embedding_name: str | None = None) -> Any:
    """The names of files that a class knows: a list, or for all classes a dict of lists.

    Examples
    --------
    >>> import loomix as mx
    >>> mx.contrib.text.embedding.get_pretrained_file_names("glove")[0]
    'glove.42B.300d.txt'
    """
    if embedding_name is not None:
        return list(_class(embedding_name).pretrained_file_name_sha1)
    return {
        name: list(one.pretrained_file_name_sha1)
        for name, one in _classes.items()
        if one.pretrained_file_name_sha1
    }


class _TokenEmbedding(vocab.Vocabulary):
    """Base of the classes: a vocabulary with a vector for each token.

    Parameters
    ----------
    **kwargs
        For :class:`vocab.Vocabulary`.
    """

    # Files that are known, and their archives, with checksums; None: not checked.
    pretrained_file_name_sha1: ClassVar[dict[str, str | None]] = {}
    pretrained_archive_name_sha1: ClassVar[dict[str, str | None]] = {}
    _address = ""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._vec_len = 0
        self._idx_to_vec: Any = None

    # Files

    @classmethod
    def _download_name(cls, name: str) -> str:
        """The name of what is fetched for a file: itself, or its archive."""
        return name

    @classmethod
    def _pretrained_file(cls, root: str, name: str) -> str:
        """The path of a file that is known, which is fetched if it is not there."""
        from ...gluon.utils import _get_repo_file_url, download

        if name not in cls.pretrained_file_name_sha1:
            known = ", ".join(cls.pretrained_file_name_sha1)
            raise MXNetKeyError(
                f"[{cls.__name__}] cannot find pretrained file {name}. Valid pretrained files are {known}."
            )
        folder = os.path.join(os.path.expanduser(root), cls.__name__.lower())
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
        source = cls._download_name(name)
        target = os.path.join(folder, source.split("/")[-1])
        expected = cls.pretrained_archive_name_sha1.get(os.path.basename(target))
        address = cls._address + source
        if os.environ.get("MXNET_GLUON_REPO"):  # a store of one's own has them by name
            address = _get_repo_file_url(f"gluon/embeddings/{cls.__name__.lower()}", source.split("/")[-1])
        fetched = download(address, target, sha1_hash=expected)
        if fetched.endswith(".zip"):
            with zipfile.ZipFile(fetched) as archive:
                archive.extract(name, folder)
        return path

    def _load(
        self, path: str, delimiter: str, init_unknown_vec: Callable[..., Any], encoding: str = "utf8"
    ) -> None:
        """Reads a file: a token and the numbers of its vector in each line."""
        path = os.path.expanduser(path)
        if not os.path.isfile(path):
            raise MXNetFileError(f"[{type(self).__name__}] {path} is no file; expected one of vectors.")
        vectors: list[Any] = []
        unknown: Any = None
        seen: set[str] = set()
        with open(path, encoding=encoding) as file:
            for number, line in enumerate(file, 1):
                fields = line.rstrip().split(delimiter)
                token, values = fields[0], fields[1:]
                if len(values) <= 1:
                    if number > 1:
                        self._warn(number, f"there is no vector for token {token}, which is skipped")
                    continue  # the first line may hold the sizes
                if token in seen or (token == self.unknown_token and unknown is not None):
                    self._warn(number, f"token {token} has a vector already, and is skipped")
                    continue
                try:
                    vector = np.array(values, np.float32)
                except ValueError:
                    raise MXNetFileError(
                        f"[{type(self).__name__}] {path}, line {number}: expected a token and numbers."
                    ) from None
                if self._vec_len and len(vector) != self._vec_len:
                    raise MXNetValueError(
                        f"[{type(self).__name__}] {path}, line {number}: token {token} has {len(vector)} numbers, "
                        f"those before have {self._vec_len}."
                    )
                self._vec_len = len(vector)
                if token == self.unknown_token:
                    unknown = vector
                    continue
                seen.add(token)
                vectors.append(vector)
                self._token_to_idx[token] = len(self._idx_to_token)
                self._idx_to_token.append(token)
        if not self._vec_len:
            raise MXNetFileError(f"[{type(self).__name__}] {path} holds no vectors.")
        if unknown is None:
            unknown = _as_numpy(init_unknown_vec(shape=self._vec_len))
        reserved = [np.zeros(self._vec_len, np.float32)] * len(self.reserved_tokens or [])
        self._idx_to_vec = nd.array(np.stack([unknown, *reserved, *vectors]))

    def _warn(self, number: int, what: str) -> None:
        warnings.warn(f"[{type(self).__name__}] line {number}: {what}.", UserWarning, stacklevel=4)

    # Vocabularies

    def _take_vocabulary(self, vocabulary: vocab.Vocabulary) -> None:
        self._token_to_idx = vocabulary.token_to_idx.copy()
        self._idx_to_token = vocabulary.idx_to_token[:]
        self._unknown_token = vocabulary.unknown_token
        self._reserved_tokens = None if vocabulary.reserved_tokens is None else vocabulary.reserved_tokens[:]

    def _set_vectors(self, embeddings: Sequence[_TokenEmbedding], tokens: Any) -> None:
        """The vectors of tokens: those of several embeddings, one behind the other."""
        parts = [embedding.get_vecs_by_tokens(tokens) for embedding in embeddings]
        self._vec_len = sum(embedding.vec_len for embedding in embeddings)
        self._idx_to_vec = parts[0] if len(parts) == 1 else nd.concat(*parts, dim=1)

    def _restrict(self, vocabulary: vocab.Vocabulary | None) -> None:
        """Keeps the tokens of a vocabulary, and no others."""
        if vocabulary is None:
            return
        if not isinstance(vocabulary, vocab.Vocabulary):
            raise MXNetTypeError(
                f"[{type(self).__name__}] vocabulary is of type {type(vocabulary).__name__}; expected a Vocabulary."
            )
        self._set_vectors([self], vocabulary.idx_to_token)
        self._take_vocabulary(vocabulary)

    # Vectors

    @property
    def vec_len(self) -> int:
        """How many numbers a vector has."""
        return self._vec_len

    @property
    def idx_to_vec(self) -> Any:
        """The vectors by number of the token: an NDArray with a row for each."""
        return self._idx_to_vec

    def get_vecs_by_tokens(self, tokens: Any, lower_case_backup: bool = False) -> Any:
        """The vector of a token, or those of a list of tokens as rows.

        Parameters
        ----------
        tokens : str or list of str
            The tokens.
        lower_case_backup : bool
            Whether a token that is not known is looked for in lower case.
        """
        names = tokens if isinstance(tokens, list) else [tokens]
        if lower_case_backup:
            names = [name if name in self._token_to_idx else str(name).lower() for name in names]
        rows = nd.take(self._idx_to_vec, nd.array(self.to_indices(list(names)), dtype="int64"), axis=0)
        return rows if isinstance(tokens, list) else rows[0]

    def update_token_vectors(self, tokens: Any, new_vectors: Any) -> None:
        """Gives tokens other vectors.

        Parameters
        ----------
        tokens : str or list of str
            Tokens that are known, or the unknown token itself.
        new_vectors : NDArray
            A row for each; for one token also its vector.

        Raises
        ------
        ValueError
            For tokens that are not known, and for other shapes.
        """
        names = as_list(tokens)
        for name in names:
            if name not in self._token_to_idx:
                raise MXNetValueError(
                    f"[embedding] Token {name} is unknown. To change the vector of unknown tokens, name the token that "
                    f"stands for them, {self.unknown_token!r}."
                )
        values = new_vectors if isinstance(new_vectors, nd.NDArray) else nd.array(new_vectors)
        if values.shape != (len(names), self._vec_len) and not (
            len(names) == 1 and values.shape == (self._vec_len,)
        ):
            raise AssertedError(
                f"[embedding] new_vectors has shape {values.shape}; expected {(len(names), self._vec_len)}."
            )
        self._idx_to_vec[[self._token_to_idx[name] for name in names]] = values.reshape(
            (len(names), self._vec_len)
        )


def _as_numpy(values: Any) -> Any:
    return values.asnumpy() if hasattr(values, "asnumpy") else np.asarray(values, np.float32)


@register
class GloVe(_TokenEmbedding):
    """The vectors of GloVe.

    Parameters
    ----------
    pretrained_file_name : str
        Name of the file; :func:`get_pretrained_file_names` lists them. It is looked for in the folder ``glove`` of
        ``embedding_root``, and else fetched.
    embedding_root : str
        Folder of the files.
    init_unknown_vec : callable
        Makes the vector of the unknown token from its shape, where the file has none.
    vocabulary : Vocabulary, optional
        Only its tokens are kept.
    """

    pretrained_file_name_sha1: ClassVar[dict[str, str | None]] = {
        "glove.42B.300d.txt": "876767977d6bd4d947c0f84d44510677bc94612a",
        "glove.6B.50d.txt": "21bf566a9d27f84d253e0cd4d4be9dcc07976a6d",
        "glove.6B.100d.txt": "16b1dbfaf35476790bd9df40c83e2dfbd05312f1",
        "glove.6B.200d.txt": "17d0355ddaa253e298ede39877d1be70f99d9148",
        "glove.6B.300d.txt": "646443dd885090927f8215ecf7a677e9f703858d",
        "glove.840B.300d.txt": "294b9f37fa64cce31f9ebb409c266fc379527708",
        "glove.twitter.27B.25d.txt": "767d80889d8c8a22ae7cd25e09d0650a6ff0a502",
        "glove.twitter.27B.50d.txt": "9585f4be97e286339bf0112d0d3aa7c15a3e864d",
        "glove.twitter.27B.100d.txt": "1bbeab8323c72332bd46ada0fc3c99f2faaa8ca8",
        "glove.twitter.27B.200d.txt": "7921c77a53aa5977b1d9ce3a7c4430cbd9d1207a",
    }
    pretrained_archive_name_sha1: ClassVar[dict[str, str | None]] = {
        "glove.42B.300d.zip": "f8e722b39578f776927465b71b231bae2ae8776a",
        "glove.6B.zip": "b64e54f1877d2f735bdd000c1d7d771e25c7dfdc",
        "glove.840B.300d.zip": "8084fbacc2dee3b1fd1ca4cc534cbfff3519ed0d",
        "glove.twitter.27B.zip": "dce69c404025a8312c323197347695e81fd529fc",
    }
    _address = "https://nlp.stanford.edu/data/"

    def __init__(
        self,
        pretrained_file_name: str = "glove.840B.300d.txt",
        embedding_root: str = os.path.join(data_dir(), "embeddings"),
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load(self._pretrained_file(embedding_root, pretrained_file_name), " ", init_unknown_vec)
        self._restrict(vocabulary)

    @classmethod
    def _download_name(cls, name: str) -> str:
        stem = name.removesuffix(".txt")
        whole = f"{stem}.zip"
        return whole if whole in cls.pretrained_archive_name_sha1 else f"{stem.rsplit('.', 1)[0]}.zip"


_WIKIPEDIAS = """
aa ab ace ady af ak als am ang an arc ar arz ast as av ay azb az bar bat_smg ba bcl be bg bh bi bjn
bm bn bo bpy br bs bug bxr ca cbk_zam cdo ceb ce cho chr ch chy ckb co crh cr csb cs cu cv cy da de
diq dsb dv dz ee el eml en eo es et eu ext fa ff fiu_vro fi fj fo frp frr fr fur fy gag gan ga gd
glk gl gn gom got gu gv hak ha haw he hif hi ho hr hsb ht hu hy hz ia id ie ig ii ik ilo io is it iu
jam ja jbo jv kaa kab ka kbd kg ki kj kk kl km kn koi ko krc kr ksh ks ku kv kw ky lad la lbe lb lez
lg lij li lmo ln lo lrc ltg lt lv mai map_bms mdf mg mhr mh min mi mk ml mn mo mrj mr ms mt mus mwl
my myv mzn nah nap na nds_nl nds ne new ng nl nn no nov nrm nso nv ny oc olo om or os pag pam pap pa
pcd pdc pfl pih pi pl pms pnb pnt ps pt qu rm rmy rn roa_rup roa_tara ro rue ru rw sah sa scn sco sc
sd se sg sh simple si sk sl sm sn so sq srn sr ss stq st su sv sw szl ta tcy tet te tg th ti tk tl
tn to tpi tr ts tt tum tw ty tyv udm ug uk ur uz vec vep ve vi vls vo war wa wo wuu xal xh xmf yi yo
za zea zh_classical zh_min_nan zh zh_yue zu
"""
_ALIGNED = "ar bg ca cs da de el en es et fi fr he hr hu id it mk nl no pl pt ro ru sk sl sv tr uk vi"


@register
class FastText(_TokenEmbedding):
    """The vectors of fastText; the parameters are those of :class:`GloVe`, the folder is ``fasttext``."""

    pretrained_file_name_sha1: ClassVar[dict[str, str | None]] = dict.fromkeys(
        [
            "crawl-300d-2M.vec",
            *(f"wiki.{code}.vec" for code in _WIKIPEDIAS.split()),
            *(f"wiki.multi.{code}.vec" for code in _ALIGNED.split()),
            "wiki-news-300d-1M-subword.vec",
            "wiki-news-300d-1M.vec",
        ]
    )
    _address = "https://dl.fbaipublicfiles.com/fasttext/"

    def __init__(
        self,
        pretrained_file_name: str = "wiki.simple.vec",
        embedding_root: str = os.path.join(data_dir(), "embeddings"),
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load(self._pretrained_file(embedding_root, pretrained_file_name), " ", init_unknown_vec)
        self._restrict(vocabulary)

    @classmethod
    def _download_name(cls, name: str) -> str:
        if name.startswith("wiki.multi."):
            return f"vectors-aligned/{name}"
        if name.startswith("wiki."):
            return f"vectors-wiki/{name}"
        return f"vectors-english/{name}.zip"


@register
class CustomEmbedding(_TokenEmbedding):
    """Vectors from a file of one's own: in each line a token and its numbers.

    Parameters
    ----------
    pretrained_file_path : str
        The file.
    elem_delim : str
        What stands between token and numbers.
    encoding : str
        The file's encoding.
    init_unknown_vec : callable
        Makes the vector of the unknown token from its shape, where the file has none.
    vocabulary : Vocabulary, optional
        Only its tokens are kept.

    Examples
    --------
    >>> import os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "vectors.txt")
    >>> with open(name, "w") as file:
    ...     _ = file.write("hello 1 2\\nworld 3 4\\n")
    >>> vectors = mx.contrib.text.embedding.CustomEmbedding(name)
    >>> vectors.get_vecs_by_tokens(["world", "unknown"]).asnumpy()
    array([[3., 4.],
           [0., 0.]], dtype=float32)
    """

    def __init__(
        self,
        pretrained_file_path: str,
        elem_delim: str = " ",
        encoding: str = "utf8",
        init_unknown_vec: Callable[..., Any] = nd.zeros,
        vocabulary: vocab.Vocabulary | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._load(pretrained_file_path, elem_delim, init_unknown_vec, encoding)
        self._restrict(vocabulary)


class CompositeEmbedding(_TokenEmbedding):
    """For each token of a vocabulary its vectors in several embeddings, one behind the other.

    Parameters
    ----------
    vocabulary : Vocabulary
        The tokens.
    token_embeddings : embedding or list of them
        The embeddings.

    Examples
    --------
    >>> import collections, os, tempfile
    >>> import loomix as mx
    >>> name = os.path.join(tempfile.mkdtemp(), "vectors.txt")
    >>> with open(name, "w") as file:
    ...     _ = file.write("hello 1 2\\nworld 3 4\\n")
    >>> text = mx.contrib.text
    >>> words = text.vocab.Vocabulary(collections.Counter(["hello"]))
    >>> one = text.embedding.CustomEmbedding(name)
    >>> text.embedding.CompositeEmbedding(words, [one, one]).get_vecs_by_tokens("hello").asnumpy()
    array([1., 2., 1., 2.], dtype=float32)
    """

    def __init__(self, vocabulary: vocab.Vocabulary, token_embeddings: Any) -> None:
        super().__init__()
        embeddings = as_list(token_embeddings)
        for embedding in embeddings:
            if not isinstance(embedding, _TokenEmbedding):
                raise MXNetTypeError(
                    f"[CompositeEmbedding] got an object of type {type(embedding).__name__}; expected embeddings of "
                    "tokens."
                )
        if not isinstance(vocabulary, vocab.Vocabulary):
            raise MXNetTypeError(
                f"[CompositeEmbedding] vocabulary is of type {type(vocabulary).__name__}; expected a Vocabulary."
            )
        self._take_vocabulary(vocabulary)
        self._set_vectors(embeddings, self.idx_to_token)


_star.complete(globals(), "base is_np_array logging nd os registry tarfile vocab warnings zipfile")
