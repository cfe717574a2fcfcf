# SPDX-License-Identifier: Apache-2.0
"""NVRTC by ctypes: it compiles for GPUs that are not there. What the module gives it is given here, too."""

import ctypes
import pathlib
import re

ROOT = pathlib.Path(__file__).parents[2]


def library():
    """None where there is none."""
    for name in ("libnvrtc.so.13", "/usr/local/cuda/lib64/libnvrtc.so.13"):
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def headers():
    """Names and texts, and options, as ops/cuda/embedded.txt and ops/cuda/compiler_nvrtc.cc list them."""
    names = (ROOT / "ops/cuda/embedded.txt").read_text().split()
    texts = {name: (ROOT / name).read_text() for name in names}
    compiler = (ROOT / "ops/cuda/compiler_nvrtc.cc").read_text()
    standard = re.search(r"for \(const char\* name :\s*\{([^}]*)\}", compiler)[1]
    options = re.search(r"options\[\] = \{([^}]*)\}", compiler)[1]
    for name in re.findall(r'"([^"]+)"', standard):
        texts[name] = '#include "ops/cuda/nvrtc/standard.h"\n'
    return texts, re.findall(r'"([^"]+)"', options)


def compile_chain(nvrtc, source, architecture):
    """The compiler's words; "" where it compiled."""
    texts, options = headers()

    def strings(items):
        return (ctypes.c_char_p * len(items))(*(item.encode() for item in items))

    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(
        ctypes.byref(program),
        source.encode(),
        b"chain.cu",
        len(texts),
        strings(texts.values()),
        strings(texts),
    )
    assert status == 0
    given = [f"--gpu-architecture=sm_{architecture}", *options]
    status = nvrtc.nvrtcCompileProgram(program, len(given), strings(given))
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value + 1)
    nvrtc.nvrtcGetProgramLog(program, log)
    nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return "" if status == 0 and size.value > 0 else log.value.decode() or "no cubin"
