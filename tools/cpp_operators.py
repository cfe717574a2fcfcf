# SPDX-License-Identifier: Apache-2.0
"""The C++ functions that compose operators, loomix/cpp/op.h, and those that run them, loomix/nn/ops.h.

For each operator there is a function with a name for the node, and one without. Inputs come first, then the
parameters that have no default, then the others, as in MXNet's cpp-package. Where the last inputs may be missing (an
optional bias, or what then becomes a variable), there are functions without them, too.
"""

import keyword
import re

NAMESPACES = {"op": None, "linalg": "linalg", "contrib": "contrib", "image": "image", "random": "random"}

# Inputs that become variables where they are not given.
_PARAMETERS = {
    *("weight", "bias", "gamma", "beta", "moving_mean", "moving_var", "label"),
    *("parameters", "state", "state_cell", "sequence_length"),
}
_KEYWORDS = {
    *(
        "auto",
        "bool",
        "case",
        "char",
        "const",
        "default",
        "delete",
        "double",
        "enum",
        "export",
        "float",
        "int",
    ),
    *("long", "namespace", "new", "operator", "private", "register", "short", "signed", "static", "struct"),
    *("switch", "template", "this", "typename", "union", "unsigned", "using", "virtual", "void", "volatile"),
}
_TYPES = {
    "int": "int",
    "long": "int64_t",
    "float": "mx_float",
    "real_t": "mx_float",
    "double": "double",
    "boolean": "bool",
    "string": "std::string",
    "Shape(tuple)": "Shape",
    "Shape": "Shape",
    "tuple of <double>": "std::vector<double>",
    "tuple of <float>": "std::vector<mx_float>",
    "tuple of <long>": "std::vector<int64_t>",
}


def _identifier(name):
    return f"{name}_" if keyword.iskeyword(name) or name in _KEYWORDS else name


def _camel(name):
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def enum_name(operator, param):
    """The C++ enumeration of the values of a parameter: ActivationActType."""
    return _camel(operator) + _camel(param)


def enumerator(value):
    """MXNet's name of one value: kRelu, kRnn_relu, kNCHW."""
    return f"k{value[:1].upper()}{value[1:]}"


def _number(text, kind):
    if text in ("inf", "-inf", "nan"):
        limits = f"std::numeric_limits<{kind}>"
        return {
            "inf": f"{limits}::infinity()",
            "-inf": f"-{limits}::infinity()",
            "nan": f"{limits}::quiet_NaN()",
        }[text]
    if kind == "mx_float":
        return f"{text}f" if re.search(r"[.e]", text) else f"{text}.0f"
    if kind == "int64_t" and abs(int(text)) > 2**31 - 1:
        return "INT64_MIN" if int(text) == -(2**63) else f"INT64_C({text})"
    return text


class Param:
    """One parameter: its type in C++, and its default."""

    def __init__(self, operator, info):
        self.name = info["name"]
        self.argument = _identifier(info["name"])
        self.required = info["required"]
        self.options = info["options"]
        text = info["default"]
        kind = info["type"].split(" or None")[0].split(" (")[0]
        self.default = None
        if self.options:
            self.type = enum_name(operator, self.name)
            default = text or "None"
            self.default = None if self.required else f"{self.type}::{enumerator(default)}"
            return
        self.type = _TYPES[kind]
        if info["optional"]:
            if not self.required:
                self.default = "std::nullopt" if text == "None" else self._value(text)
            self.type = f"std::optional<{self.type}>"
        elif not self.required:
            self.default = self._value(text)

    def _value(self, text):
        if self.type == "bool":
            return "true" if text == "True" else "false"
        if self.type == "std::string":
            return '"' + text.replace('"', '\\"') + '"'
        if self.type == "Shape" or self.type.startswith("std::vector"):
            kind = "int64_t" if self.type == "Shape" else self.type[12:-1]
            numbers = [_number(item.strip(), kind) for item in text.strip("()").split(",") if item.strip()]
            inside = ", ".join(numbers)
            return f"Shape({inside})" if self.type == "Shape" else f"{self.type}{{{inside}}}"
        return _number(text, self.type)

    def declare(self):
        by_value = self.type in ("bool", "int", "int64_t", "mx_float", "double") or self.options
        text = f"{self.type if by_value else f'const {self.type}&'} {self.argument}"
        return f"{text} = {self.default}" if self.default is not None else text

    def give(self):
        more = f", {self.default}" if self.default not in (None, "std::nullopt") else ""
        return f'.set("{self.name}", {self.argument}{more})'


def _functions(name, info, namespace):
    """The text of all functions of one name."""
    operator = info["name"]
    params = [Param(operator.lstrip("_"), item) for item in info["params"]]
    params.sort(key=lambda param: not param.required)
    variadic = info["variadic"]
    if variadic:  # how many there are is told by MXNet's callers; it may be left to the library otherwise
        params.sort(key=lambda param: not (param.name == variadic and param.required))
    inputs = info["inputs"]
    texts = []
    counts = [len(inputs)]
    if not variadic:
        while counts[-1] > 1 and (
            inputs[counts[-1] - 1]["optional"] or inputs[counts[-1] - 1]["name"] in _PARAMETERS
        ):
            counts.append(counts[-1] - 1)
    for count in counts:
        texts.append(_function(name, operator, inputs[:count], params, variadic, namespace))
    return "".join(texts)


def _function(name, operator, inputs, params, variadic, namespace):
    arguments, calls, passed = [], [], []
    for item in inputs:
        argument = _identifier(item["name"])
        if variadic and item is inputs[-1]:
            arguments.append(f"const std::vector<Symbol>& {argument}")
            calls.append(f".inputs({argument})")
        else:
            arguments.append(f"const Symbol& {argument}")
            calls.append(f".inputs({{{argument}}})" if variadic else f'.input("{item["name"]}", {argument})')
        passed.append(argument)
    for param in params:
        arguments.append(param.declare())
        calls.append(param.give())
        passed.append(param.argument)
    named = ", ".join(["const std::string& symbol_name", *arguments])
    bare = ", ".join(arguments)
    call = "".join(calls)
    itself = f"{namespace}::{name}" if namespace else name  # else its like of another namespace is found, too
    return (
        f"inline Symbol {name}({named}) {{\n"
        f'  return detail::Composed("{operator}"){call}.make(symbol_name);\n}}\n'
        f"inline Symbol {name}({bare}) {{\n"
        f"  return {itself}({', '.join(['std::string()', *passed])});\n}}\n"
    )


def _enums(infos):
    """The enumerations of all parameters with fixed values, and their texts."""
    parts = []
    for operator, info in sorted(infos.items()):
        for param in info["params"]:
            if not param["options"]:
                continue
            name = enum_name(operator.lstrip("_"), param["name"])
            values = param["options"]
            names = ", ".join(enumerator(value) for value in values)
            texts = ", ".join(f'"{value}"' for value in values)
            parts.append(
                f"enum class {name} {{ {names} }};\n"
                f"inline const char* to_text({name} value) {{\n"
                f"  static constexpr const char* kTexts[] = {{{texts}}};\n"
                f"  return kTexts[static_cast<int>(value)];\n}}\n"
            )
    return "".join(parts)


def _first_sentence(text):
    return " ".join(text.split(". ")[0].split()).rstrip(".") + "."


def header(spaces):
    """The text of op.h. `spaces`: namespace to short name to operator's information."""
    infos = {}
    bodies = []
    for space, namespace in NAMESPACES.items():
        functions = []
        for name, info in sorted(spaces.get(space, {}).items()):
            if info["no_symbol"] or info["any_keywords"] or name.startswith("_"):
                continue
            infos[info["name"]] = info
            functions.append(
                f"// {_first_sentence(info['doc'])}\n{_functions(_identifier(name), info, namespace)}"
            )
        text = "".join(functions)
        bodies.append(
            f"namespace {namespace} {{\n{text}}}  // namespace {namespace}\n" if namespace else text
        )
    return (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Written by tools/generate_ops.py from the operator table.\n"
        "// clang-format off\n"
        "#pragma once\n\n"
        "#include <limits>\n\n"
        '#include "loomix/cpp/composed.h"\n\n'
        "namespace loomix::cpp {\ninline namespace names {\n\n"
        + _enums(infos)
        + "\n"
        + "\n".join(bodies)
        + "\n}  // namespace names\n}  // namespace loomix::cpp\n"
    )


# What a parameter is in a struct of nn/ops.h: left out, it is what the operator has anyway.
_FIELDS = {
    "int": "std::optional<int64_t> NAME = {};",
    "long": "std::optional<int64_t> NAME = {};",
    "float": "std::optional<double> NAME = {};",
    "real_t": "std::optional<double> NAME = {};",
    "double": "std::optional<double> NAME = {};",
    "boolean": "std::optional<bool> NAME = {};",
    "string": "const char* NAME = nullptr;",
    "Shape(tuple)": "Shape NAME = {};",
    "Shape": "Shape NAME = {};",
    "tuple of <long>": "Shape NAME = {};",
    "tuple of <float>": "std::vector<double> NAME = {};",
    "tuple of <double>": "std::vector<double> NAME = {};",
}


def _field(param):
    if param["options"]:
        values = ", ".join(value for value in param["options"] if value != "None")
        return f"const char* {_identifier(param['name'])} = nullptr;  // {values}"
    kind = param["type"].split(" or None")[0].split(" (")[0]
    text = _FIELDS[kind].replace("NAME", _identifier(param["name"]))
    return f"{text}  // {param['default']}" if param["default"] not in ("", "None", "()") else text


def _run_function(name, info, operators):
    """A function that runs an operator on arrays, and the struct of its parameters before its first name."""
    operator = info["name"]
    struct = _camel(operator.lstrip("_")) + "Params"
    params = [param for param in info["params"] if param["name"] != info["variadic"]]
    text = f"// {_first_sentence(info['doc'])}\n"
    if params and operator not in operators:
        fields = "".join(f"  {_field(param)}\n" for param in params)
        text += f"struct {struct} {{\n{fields}}};\n"
    operators.add(operator)
    arguments, calls = [], []
    for item in info["inputs"]:
        argument = _identifier(item["name"])
        if info["variadic"] and item is info["inputs"][-1]:
            arguments.append(f"const Arrays& {argument}")
            calls.append(f".in({argument})")
            if info["variadic"] in [param["name"] for param in info["params"]]:
                calls.append(f'.set("{info["variadic"]}", static_cast<int64_t>({argument}.size()))')
            continue
        missing = " = {}" if item["optional"] else ""
        arguments.append(f"const Array& {argument}{missing}")
        calls.append(f".in({argument})")
    if params:
        arguments.append(f"const {struct}& params = {{}}")
        calls += [f'.give("{param["name"]}", params.{_identifier(param["name"])})' for param in params]
    many = len(info["outputs"]) != 1
    call = "".join(calls)
    return (
        f"{text}inline {'Arrays' if many else 'Array'} {name}({', '.join(arguments)}) {{\n"
        f'  return detail::Call("{operator}"){call}.{"run_all" if many else "run"}();\n}}\n'
    )


def run_header(spaces):
    """The text of nn/ops.h."""
    operators = set()
    bodies = []
    for space, namespace in NAMESPACES.items():
        text = "".join(
            _run_function(_identifier(name), info, operators)
            for name, info in sorted(spaces.get(space, {}).items())
            if not info["any_keywords"] and not name.startswith("_")
        )
        bodies.append(
            f"namespace {namespace} {{\n{text}}}  // namespace {namespace}\n" if namespace else text
        )
    return (
        "// SPDX-License-Identifier: Apache-2.0\n"
        "// Written by tools/generate_ops.py from the operator table.\n"
        "// clang-format off\n"
        "#pragma once\n\n"
        '#include "loomix/nn/array.h"\n\n'
        "// All operators, with parameters by name: op::Convolution(x, w, b, {.kernel = {3, 3}, .num_filter = 8}).\n"
        "namespace loomix::nn::op {\n\n" + "\n".join(bodies) + "\n}  // namespace loomix::nn::op\n"
    )
