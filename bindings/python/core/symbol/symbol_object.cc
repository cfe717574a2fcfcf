// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/symbol/symbol_object.h"

#include <algorithm>

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "base/error.h"
#include "bindings/python/core/convert.h"
#include "bindings/python/core/errors.h"
#include "bindings/python/core/process/runtime.h"
#include "bindings/python/core/symbol/late_nodes.h"
#include "ops/table.h"

namespace loomix::python {
namespace {

namespace py = pybind11;

PyObject* numpy_symbol = nullptr;

py::dict to_dict(const TextPairs& pairs) {
  py::dict dict;
  for (const auto& [key, value] : pairs) dict[py::str(key)] = value;
  return dict;
}

py::object shape_object(const Shape& shape, ShapeRule rule) {
  if (!shape.ndim_known()) return rule == ShapeRule::numpy ? py::object(py::none()) : py::object(py::tuple());
  py::tuple tuple(shape.ndim());
  for (int axis = 0; axis < shape.ndim(); ++axis) {
    tuple[axis] = shape[axis] < 0 && rule == ShapeRule::legacy ? 0 : shape[axis];
  }
  return tuple;
}

py::list shape_list(const std::vector<Shape>& shapes, ShapeRule rule) {
  py::list list;
  for (const Shape& shape : shapes) list.append(shape_object(shape, rule));
  return list;
}

py::list dtype_list(const std::vector<DType>& dtypes) {
  py::list list;
  for (DType dtype : dtypes) {
    list.append(dtype == DType::unknown ? py::object(py::none())
                                        : py::reinterpret_borrow<py::object>(dtype_class(dtype)));
  }
  return list;
}

// Arrays and shapes of the arguments, the outputs and the auxiliary states, and whether all of them are known.
py::tuple infer_shape(const Symbol& symbol, const std::vector<std::pair<std::string, py::object>>& known,
                      bool numpy) {
  const ShapeRule rule = numpy ? ShapeRule::numpy : ShapeRule::legacy;
  std::vector<std::pair<std::string, Shape>> shapes;
  for (const auto& [name, shape] : known) shapes.emplace_back(name, to_shape(shape.ptr(), "infer_shape"));
  const Inferred<Shape> result = symbol.infer_shape(shapes, rule);
  return py::make_tuple(shape_list(result.arguments, rule), shape_list(result.outputs, rule),
                        shape_list(result.auxiliary_states, rule), result.complete, result.unresolved);
}

py::tuple infer_type(const Symbol& symbol, const std::vector<std::pair<std::string, py::object>>& known) {
  std::vector<std::pair<std::string, DType>> dtypes;
  for (const auto& [name, dtype] : known) dtypes.emplace_back(name, to_dtype(dtype.ptr(), "infer_type"));
  const Inferred<DType> result = symbol.infer_type(dtypes);
  return py::make_tuple(dtype_list(result.arguments), dtype_list(result.outputs),
                        dtype_list(result.auxiliary_states), result.complete);
}

Symbol compose(const Symbol& symbol, const std::vector<std::pair<std::string, Symbol>>& inputs,
               const std::string& name) {
  std::vector<NamedSymbol> named;
  for (const auto& [input, value] : inputs) named.push_back({input, value});
  return symbol.compose(named, name);
}

// For loomix.symbol.contrib: the part of a symbol that is called `name`, and what its inputs stand for outside.
py::tuple cut_subgraph(const Symbol& symbol, const std::string& name) {
  Symbol::Cut cut = symbol.cut_subgraph(name);
  return py::make_tuple(std::move(cut.graph), std::move(cut.inputs));
}

// Lists of symbols with one output each as one list without repetitions, and the places of each list's symbols there.
py::tuple unite(const std::vector<std::vector<Symbol>>& lists) {
  std::vector<Symbol> all;
  std::vector<std::vector<int64_t>> places;
  for (const auto& list : lists) {
    places.emplace_back();
    for (const Symbol& symbol : list) {
      const SymbolOutput& wanted = symbol.outputs()[0];
      const auto same = std::find_if(all.begin(), all.end(), [&](const Symbol& known) {
        return known.outputs()[0].node == wanted.node && known.outputs()[0].index == wanted.index;
      });
      places.back().push_back(same - all.begin());
      if (same == all.end()) all.push_back(symbol);
    }
  }
  return py::make_tuple(all, places);
}

Symbol compose_control_flow(const std::string& op, const std::vector<Symbol>& subgraphs,
                            const std::vector<Symbol>& inputs, const py::object& attrs,
                            const std::string& name) {
  std::vector<NamedSymbol> named;
  for (const Symbol& input : inputs) named.push_back({{}, input});
  return Symbol::create(operators(), op, to_text_pairs(attrs.ptr(), op.c_str()), named, name, subgraphs);
}

// `expand(op, name, attributes, inputs)` gives the outputs of a late node; they and the inputs are (symbol, shape, type).
Symbol expand_late(const Symbol& symbol, const std::vector<std::pair<std::string, py::object>>& known_shapes,
                   const std::vector<std::pair<std::string, py::object>>& known_types,
                   const py::object& expand) {
  std::vector<std::pair<std::string, Shape>> shapes;
  std::vector<std::pair<std::string, DType>> dtypes;
  for (const auto& [name, shape] : known_shapes)
    shapes.emplace_back(name, to_shape(shape.ptr(), "infer_shape"));
  for (const auto& [name, dtype] : known_types)
    dtypes.emplace_back(name, to_dtype(dtype.ptr(), "infer_type"));
  return expand_late_nodes(
      symbol, shapes, dtypes, [&](const SymbolNode& node, const std::vector<KnownSymbol>& inputs) {
        py::dict attrs;
        for (const auto& [key, value] : node.dict) attrs[py::str(key)] = value;
        py::list given;
        for (const KnownSymbol& input : inputs) {
          given.append(py::make_tuple(input.symbol, shape_object(input.shape, ShapeRule::numpy),
                                      py::reinterpret_borrow<py::object>(dtype_class(input.dtype))));
        }
        std::vector<KnownSymbol> made;
        for (const py::handle item : expand(node.unknown_op, node.name, attrs, given)) {
          const auto parts = item.cast<py::tuple>();
          made.push_back({parts[0].cast<Symbol>(), to_shape(py::object(parts[1]).ptr(), "expand"),
                          to_dtype(py::object(parts[2]).ptr(), "expand")});
        }
        return made;
      });
}

}  // namespace

bool is_symbol(PyObject* object) {
  static PyObject* const type = package_attribute("symbol.symbol", "Symbol");
  return PyObject_TypeCheck(object, reinterpret_cast<PyTypeObject*>(type));
}

const Symbol& symbol_of(PyObject* object) {
  const Owned handle(checked(PyObject_GetAttrString(object, "handle")));
  return *py::handle(handle.get()).cast<const Symbol*>();  // `object` keeps it
}

PyTypeObject* numpy_symbol_class() { return reinterpret_cast<PyTypeObject*>(numpy_symbol); }

PyObject* wrap(Symbol symbol, PyTypeObject* type) {
  static PyObject* const plain = package_attribute("symbol.symbol", "Symbol");
  const py::object handle = py::cast(std::move(symbol));
  return checked(PyObject_CallOneArg(type ? reinterpret_cast<PyObject*>(type) : plain, handle.ptr()));
}

TextPairs to_text_pairs(PyObject* dict, const char* who) {
  TextPairs pairs;
  if (!dict || dict == Py_None) return pairs;
  LOOMIX_CHECK(PyDict_Check(dict), TypeError, "[{}] attr is of type {}; expected a dict of strings.", who,
               type_name(dict));
  PyObject *key = nullptr, *value = nullptr;
  Py_ssize_t position = 0;
  while (PyDict_Next(dict, &position, &key, &value)) {
    LOOMIX_CHECK(PyUnicode_Check(key), TypeError, "[{}] attribute name {} is not a string.", who,
                 to_text(key));
    pairs.emplace_back(to_text(key), to_text(value));
  }
  return pairs;
}

void add_symbol_type(PyObject* module) {
  auto m = py::reinterpret_borrow<py::module_>(module);
  const ops::OpTable& table = operators();
  py::class_<Symbol>(m, "SymbolHandle")
      .def_static("variable",
                  [](const std::string& name, const py::object& attrs) {
                    return Symbol::variable(name, to_text_pairs(attrs.ptr(), "Variable"));
                  })
      .def_static("group", [](const std::vector<Symbol>& symbols) { return Symbol::group(symbols); })
      .def_static(
          "from_json",
          [&table](const std::string& text) { return Symbol::from_json(table, text, NumpyOperators::late); })
      .def_static(
          "load",
          [&table](const std::string& path) { return Symbol::load(table, path, NumpyOperators::late); })
      .def_static("late_node",
                  [](const std::string& op, const std::string& name, const py::object& attrs,
                     const std::vector<Symbol>& inputs, int outputs) {
                    return late_node(op, name, to_text_pairs(attrs.ptr(), op.c_str()), inputs, outputs);
                  })
      .def("has_late_nodes", [](const Symbol& symbol) { return has_late_nodes(symbol); })
      .def("expand_late_nodes", &expand_late)
      .def("become", &become)
      .def("__len__", &Symbol::num_outputs)
      .def("at", [](const Symbol& symbol, int i) { return symbol[i]; })
      .def("output", [](const Symbol& symbol, const std::string& name) { return symbol.output(name); })
      .def("internals", &Symbol::internals)
      .def("children",
           [](const Symbol& symbol) -> py::object {
             Symbol children = symbol.children();
             return children.empty() ? py::object(py::none()) : py::cast(std::move(children));
           })
      .def("copy", &Symbol::copy)
      .def("compose", &compose)
      .def("name", [](const Symbol& symbol) { return symbol.name(); })
      .def("list_arguments", &Symbol::list_arguments)
      .def("list_outputs", &Symbol::list_outputs)
      .def("list_auxiliary_states", &Symbol::list_auxiliary_states)
      .def("list_inputs", &Symbol::list_inputs)
      .def("attr", [](const Symbol& symbol, const std::string& key) { return symbol.attr(key); })
      .def("list_attr", [](const Symbol& symbol) { return to_dict(symbol.list_attr()); })
      .def("attr_dict",
           [](const Symbol& symbol) {
             py::dict dict;
             for (const auto& [name, attrs] : symbol.attr_dict()) dict[py::str(name)] = to_dict(attrs);
             return dict;
           })
      .def("set_attr",
           [&table](Symbol& symbol, const py::dict& attrs) {
             symbol.set_attr(table, to_text_pairs(attrs.ptr(), "_set_attr"));
           })
      .def("infer_shape", &infer_shape)
      .def("infer_type", &infer_type)
      .def("to_json", &Symbol::to_json)
      .def("save", &Symbol::save)
      .def("without_amp_cast", &Symbol::without_amp_cast)
      .def("with_equal_merged", &Symbol::with_equal_merged)
      .def("cut_subgraph", &cut_subgraph)
      .def("output_index", [](const Symbol& symbol) { return symbol[0].outputs()[0].index; })
      .def_static("unite", &unite)
      .def_static("compose_control_flow", &compose_control_flow)
      .def_static("set_numpy_class",
                  [](const py::object& type) { numpy_symbol = py::object(type).release().ptr(); })
      .def("dump", [](const Symbol& symbol) { return dump(symbol.graph()); });
}

}  // namespace loomix::python
