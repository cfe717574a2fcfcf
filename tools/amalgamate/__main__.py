# SPDX-License-Identifier: Apache-2.0
"""Writes loomix_predict.cc and loomix_predict.h: prediction as one file without dependencies.

python3 tools/amalgamate FOLDER
"""

import argparse
import re
from pathlib import Path

import cpp_text

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STANDIN = HERE / "standin"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"][^\n]*\n', re.MULTILINE)
OF_ONE_PROCESSOR = {  # and when they are there
    "arm_neon.h": "__ARM_NEON",
    "emmintrin.h": "__SSE2__",
    "immintrin.h": "__x86_64__",
    "wasm_simd128.h": "__wasm_simd128__",
}
# Links of an operator's definition that say what training needs, or what only documentation reads.
TRAINING_LINKS = ["gradient", "gradient_by", "gradient_op", "zero_gradient", "again", "scatters", "doc"]


HEAD = """// SPDX-License-Identifier: Apache-2.0
// Prediction with Loomix in one file. Written by tools/amalgamate from Loomix's sources; change those.
// c++ -std=c++20 -O3 -march=native -c loomix_predict.cc
#include "loomix_predict.h"
// What is left out leaves names unused.
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-value"
#pragma GCC diagnostic ignored "-Wunused-variable"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC optimize("Os")
"""


class Gatherer:
    """Collects the text of sources, with each header once and before its first reader."""

    def __init__(self) -> None:
        self.system: set[str] = set()
        self.seen: set[str] = set()
        self.parts: list[str] = []

    def find(self, name: str) -> Path:
        for folder in (STANDIN, ROOT, ROOT / "bindings/c/include"):
            if (folder / name).is_file():
                return folder / name
        raise FileNotFoundError(name)

    def add(self, name: str) -> None:
        if name in self.seen:
            return
        self.seen.add(name)
        text = cpp_text.without_comments(self.find(name).read_text())
        for bracket, included in INCLUDE.findall(text):
            if included == "loomix/predict.h":
                continue
            if bracket == '"' or (STANDIN / included).is_file():
                self.add(included)
            else:
                self.system.add(included)
        text = INCLUDE.sub("", text)
        text = re.sub(r"^#pragma once\n", "", text, flags=re.MULTILINE)
        own = f"f{len(self.parts)}"
        level = level_of(name)
        text = f"// {name}\n{reduced(text, name, own)}"
        if level != "Os":
            text = (
                f'#pragma GCC push_options\n#pragma GCC optimize("{level}")\n{text}#pragma GCC pop_options\n'
            )
        self.parts.append(text)


# Types that no loop is compiled for: arrays of them become float32 when a model is read. Conversions know float64, too.
LEFT_OUT = ("float64", "float16", "bfloat16", "int8")
CHANGES = {
    # Codecs need no destructor, and schemas none either: they last as long as the program.
    "base/params.h": [
        (r"  virtual ~Codec\(\) = default;\n", ""),
        (
            r"static const ParamSchema schema = (FieldList<P>::build\(\));",
            r"static const ParamSchema& schema = *new ParamSchema(\1);",
        ),
        (r"(T Base::\*member, std::string_view doc)\);", r"\1 = {});"),
    ],
    "base/shape.h": [
        (
            r"std::unique_ptr<int64_t\[\]> heap_;",
            "struct Free {\n    void operator()(int64_t* sizes) const { delete[] sizes; }\n  };\n"
            "  std::unique_ptr<int64_t[], Free> heap_;",
        ),
    ],
    "base/shape.cc": [
        (r"heap_ = std::make_unique<int64_t\[\]>\(kMaxDims\);", "heap_.reset(new int64_t[kMaxDims]());")
    ],
    "base/param_codecs.cc": [
        (r"std::string_view\(\) : trim", "TextView() : trim"),
        ("detail::python_tuple", "python_tuple"),
    ],
    "base/dtype.h": [
        (rf"    case DType::(?:{'|'.join(LEFT_OUT)}): return fn\(Type<\w+>\{{\}}\);\n", ""),
    ],
    "ops/elemwise/rows.cc": [("dispatch_all", "dispatch_converted")],
    # A name that several files share, in lists of members' first values, where no `using` can be.
    "ops/conv/conv_gemm.cc": [(r"\bkernels\(\)", "conv_gemm_kernels()")],
    # Functions of the mathematics library that work on vectors are not everywhere.
    "ops/simd_math.h": [(r"#pragma GCC diagnostic push\n.*?#pragma GCC diagnostic pop\n", "")],
    "symbol/json_load.cc": [
        (
            r"= item\.value\(\)\.get<std::string>\(\)",
            "= narrowed(item.key(), item.value().get<std::string>())",
        )
    ],
    # Arrays of all devices are on the one that there is.
    "ndarray/array_file.cc": [
        (
            r"  const int32_t id = (in\.number<int32_t>\(\"the device\"\);).*?\n\}\n",
            r"  \1\n  return Device::cpu();\n}\n",
        ),
        (r"const int32_t type = (in\.number<int32_t>\(\"the device\"\);)", r"\1"),
        (r"return device\.is_host\(\) \? array : copy_to\(array, device\);", "return array;"),
        # Weights are converted to the types that there are, so none is borrowed.
        (r"  const std::byte\* const place = .*?;\n  if \(place && .*?;\n", ""),
        (r"  if \(place\) std::memcpy[^\n]*\n  else (in\.read)", r"  \1"),
    ],
    "symbol/control_flow/control_flow.cc": [
        (r"  table\.add<ControlGradientParams>.*?\.hidden\(\);\n", ""),
        (r"  table\.async_kernel<ControlGradientParams.*?;\n", ""),
    ],
    "ops/table.cc": [
        (r"  require\(!op\.doc\.empty\(\).*?;\n", ""),
        (r"  if \(op\.gradient\) \{.*?\n  \}\n", ""),
        # Gradients' operators that a family registers in one loop with the others have no kernels here.
        (r"(for \(const OpDef& op : ops_\) )(validate_op)", r"\1if (!op.kernels.empty()) \2"),
    ],
}


# Kernels that many networks spend time in, beside the vector loops.
WARM = {"activation", "conv", "fused", "norm", "pool", "rnn", "softmax"}
# Vector loops in so many variants that they would take much of the file.
LARGE = {
    "ops/reduce/reduce_simd.cc": "Os",
    "ops/pool/pooling_simd.cc": "O2",
    "ops/softmax/softmax_simd.cc": "O2",
}


def level_of(name: str) -> str:
    """How much the compiler makes of a file: all of it of vector loops, less of others; little of what runs once."""
    if name in LARGE:
        return LARGE[name]
    if name.endswith("_simd.cc") or name in {"ops/simd_tile.h", "ops/simd_math.h"}:
        return "O3"
    warm = name.endswith("_cpu.cc") and name.split("/")[1] in WARM
    return "O2" if warm or name in {"ops/strided.cc", "ops/elemwise/rows.cc"} else "Os"


# Functions and classes that prediction has no use for.
WITHOUT = {
    "ops/table.cc": ["NameChecker"],
    "ops/linear/gemm_cblas.cc": ["matmul_halves"],
    "ndarray/array_file.cc": [
        "Writer",
        "write_place",
        "write_dense",
        "write_sparse",
        "write_none",
        "write_record",
        "load_arrays",
        "save_arrays_to_buffer",
        "save_arrays",
        "load_array_record",
        "save_array_record",
    ],
    "symbol/json_load.cc": ["Symbol::load"],
    "symbol/control_flow/control_flow.cc": ["infer_gradient", "add_gradient"],
}
# Files whose own names are needed outside of bodies, in lists of members' first values.
OPEN_NAMES = ("ops/conv/conv_gemm.cc", "ops/rnn/rnn_shape.cc")


def reduced(text: str, name: str, own: str) -> str:
    """`own`: the namespace of what only this file sees; short, for it is in the name of each function in the object."""
    if name in WITHOUT:
        text = cpp_text.without_functions(text, WITHOUT[name])
    for pattern, new in CHANGES.get(name, []):
        text, count = re.subn(pattern, new, text, flags=re.DOTALL)
        if count == 0:
            raise ValueError(f"{name} has nothing that looks like {pattern!r}")
    text = cpp_text.without_calls(text, TRAINING_LINKS)
    text = without_backward(text)
    text = without_field_docs(text)
    if name != "base/text_view.h":
        text = re.sub(r"(?<!hash<)(?<!_map<)(?<!_set<)std::string_view\b", "TextView", text)
    text = re.sub(r"#pragma omp declare simd[^\n]*\n", "", text)
    text = re.sub(r"#pragma omp simd reduction[^\n]*\n", "", text)
    text = re.sub(r"#pragma omp simd\b[^\n]*", "#pragma GCC ivdep", text)
    if name.endswith(".cc"):
        text = cpp_text.with_own_names(text, own)
        if name in OPEN_NAMES:
            text = text.replace("}\n}", f"}}\n}} using namespace {own};", 1)
    return text


def without_field_docs(text: str) -> str:
    """The doc strings of fields: `f("axis", &P::axis, "Axis along ...")`."""
    masked = cpp_text.blank(text)
    edits = []
    for match in re.finditer(r'f\("[^"]*",\s*&[\w:<>]+(?=,\s*")', masked):
        end = re.compile(r',\s*"[^"]*"(\s*"[^"]*")*').match(masked, match.end())
        if end:
            edits.append((match.end(), end.end(), ""))
    return cpp_text.edit(text, edits)


def without_backward(text: str) -> str:
    """Statements that register operators of gradients, or their kernels."""
    masked = cpp_text.blank(text)
    edits = []
    for match in re.finditer(r'"_backward_', text):
        if masked[match.start()] != '"':
            continue
        begin = max(masked.rfind(mark, 0, match.start()) for mark in ";{}") + 1
        head = text[begin : match.start()]
        # A call whose first name is of a gradient, as a statement of its own.
        if not re.fullmatch(r"\s*(?:table\.[^()]*\(|[\w:<>, ]+\(\s*table,)\s*", head) or re.match(
            r"\s*(?:const|return)\b", head
        ):
            continue
        end = begin
        while masked[end] != ";":
            end = cpp_text.closing(masked, end) + 1 if masked[end] in "({[" else end + 1
        edits.append((begin, end + 1, ""))
    return cpp_text.edit(text, sorted(set(edits)))


def registrars(text: str) -> list[str]:
    """Those of the library for prediction that are here, in its order."""
    source = (ROOT / "ops/register_all.cc").read_text()
    named = []
    for function in ("register_operators", "kernels_for_prediction"):
        body = re.search(rf"^void {function}\(.*?^\}}", source, re.MULTILINE | re.DOTALL)
        assert body
        named += re.findall(r"\w+", " ".join(re.findall(r"\brun\((.*?)\);", body[0], flags=re.DOTALL)))
    there = [
        name for name in named if re.search(rf"^void {name}\(OpTable& table\) \{{", text, flags=re.MULTILINE)
    ]
    assert there
    return there


def main() -> None:
    parser = argparse.ArgumentParser(prog="amalgamate", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the two files go")
    arguments = parser.parse_args()
    gatherer = Gatherer()
    gatherer.add("older_library.h")
    shim = gatherer.parts.pop()
    for line in (HERE / "sources.txt").read_text().splitlines():
        name = line.split("#")[0].strip()
        if name:
            gatherer.add(name)
    inside, outside = gatherer.parts.pop().split("using namespace loomix;", 1)
    body = "".join(gatherer.parts) + inside
    calls = "".join(f"  {name}(table);\n" for name in registrars(body))
    body += f"namespace loomix::ops {{\nvoid register_all(OpTable& table) {{\n{calls}}}\n}}\n"
    system = "".join(f"#include <{name}>\n" for name in sorted(gatherer.system - OF_ONE_PROCESSOR.keys()))
    system += "".join(
        f"#if defined({there})\n#include <{name}>\n#endif\n" for name, there in OF_ONE_PROCESSOR.items()
    )
    arguments.folder.mkdir(parents=True, exist_ok=True)
    header = (ROOT / "bindings/c/include/loomix/predict.h").read_text()
    (arguments.folder / "loomix_predict.h").write_text(header)
    target = arguments.folder / "loomix_predict.cc"
    target.write_text(f"{HEAD}{system}{shim}\nnamespace {{\n{body}}}\nusing namespace loomix;{outside}")
    print(f"{target}: {target.read_text().count(chr(10))} lines")


if __name__ == "__main__":
    main()
