// SPDX-License-Identifier: Apache-2.0
#include "bindings/python/core/executor/explanation.h"

#include <pybind11/stl.h>

namespace loomix::python {
namespace {

namespace py = pybind11;
using namespace py::literals;

template <class Items, class Convert>
py::list list_of(const Items& items, Convert convert) {
  py::list list;
  for (const auto& item : items) list.append(convert(item));
  return list;
}

py::tuple sizes_of(const Shape& shape) {
  return py::tuple(py::cast(std::vector<int64_t>(shape.begin(), shape.end())));
}

const char* word_for(ProgramReport::Kind kind) {
  switch (kind) {
    case ProgramReport::Kind::output: return "output";
    case ProgramReport::Kind::saved: return "saved";
    case ProgramReport::Kind::scratch: break;
  }
  return "scratch";
}

const char* word_for(ProgramReport::Place place) {
  switch (place) {
    case ProgramReport::Place::planned: return "planned";
    case ProgramReport::Place::own: return "own";
    case ProgramReport::Place::unused: break;
  }
  return "unused";
}

const char* word_for(WholeNote::Runs runs) {
  switch (runs) {
    case WholeNote::Runs::packed: return "int8";
    case WholeNote::Runs::alone: return "int8, alone";
    case WholeNote::Runs::real: break;
  }
  return "float32";
}

const char* word_for(Explanation::Array::Kind kind) {
  switch (kind) {
    case Explanation::Array::Kind::argument: return "argument";
    case Explanation::Array::Kind::auxiliary_state: return "auxiliary state";
    case Explanation::Array::Kind::output: break;
  }
  return "output";
}

py::dict dict_of(const PassNote& note) {
  const auto operators = [](const std::vector<PassNote::Operators>& all) {
    return list_of(all, [](const PassNote::Operators& same) {
      return py::dict("op"_a = same.op, "count"_a = same.count, "names"_a = same.names);
    });
  };
  return py::dict("name"_a = note.pass, "before"_a = note.before, "after"_a = note.after,
                  "gone"_a = operators(note.gone), "made"_a = operators(note.made),
                  "conversions"_a = note.conversions, "held"_a = note.held,
                  "ms"_a = static_cast<double>(note.ns) / 1e6);
}

// Values name their call by its number.
py::dict dict_of(const ProgramReport::Value& value, int32_t call) {
  return py::dict("name"_a = value.name, "kind"_a = word_for(value.kind), "place"_a = word_for(value.place),
                  "shape"_a = sizes_of(value.shape), "dtype"_a = std::string(name_of(value.dtype)),
                  "bytes"_a = value.bytes, "offset"_a = value.offset, "inplace_of"_a = value.inplace_of,
                  "first"_a = call, "last"_a = value.last);
}

py::dict dict_of(const ProgramReport::Call& call) {
  py::object ms = py::none();
  if (call.last_ns) ms = py::float_(static_cast<double>(*call.last_ns) / 1e6);
  return py::dict("name"_a = call.name, "op"_a = call.op, "kernel"_a = call.kernel,
                  "device"_a = call.device.to_string(), "gradient_of"_a = call.gradient_of,
                  "again"_a = call.again, "converts_layout"_a = call.converts_layout, "parts"_a = call.parts,
                  "estimated_ms"_a = call.estimated_ns / 1e6, "ms"_a = ms);
}

py::dict dict_of(const ProgramReport& program) {
  py::list values;
  for (size_t i = 0; i < program.calls.size(); ++i) {
    const ProgramReport::Call& call = program.calls[i];
    for (int32_t k = 0; k < call.num_values; ++k)
      values.append(
          dict_of(program.values[static_cast<size_t>(call.first_value + k)], static_cast<int32_t>(i)));
  }
  py::list arenas;
  for (size_t i = 0; i < program.arenas.size(); ++i) {
    const memplan::Arena& arena = program.arenas[i];
    arenas.append(py::dict("device"_a = arena.device.to_string(), "planned"_a = arena.bytes,
                           "naive"_a = arena.naive, "lower_bound"_a = arena.lower_bound,
                           "peak"_a = program.peaks[i]));
  }
  return py::dict(
      "nodes"_a = program.num_nodes, "forward_calls"_a = program.num_forward, "views"_a = program.num_views,
      "tasks"_a = program.num_tasks, "on_one_core"_a = program.num_on_one_core,
      "inplace"_a = program.num_inplace, "waits"_a = program.num_waits,
      "calls"_a = list_of(program.calls, [](const ProgramReport::Call& call) { return dict_of(call); }),
      "values"_a = values, "arenas"_a = arenas);
}

}  // namespace

py::dict sharing_dict(const PlannedBytes& bytes) {
  return py::dict("naive"_a = bytes.naive, "inplace"_a = bytes.inplace, "co_share"_a = bytes.co_share,
                  "both"_a = bytes.both, "lower_bound"_a = bytes.lower_bound);
}

py::dict explanation_dict(const Explanation& explanation) {
  py::dict result(
      "title"_a = explanation.title, "training"_a = explanation.training,
      "with_gradients"_a = explanation.with_gradients, "device"_a = explanation.device.to_string(),
      "arrays"_a = list_of(explanation.arrays,
                           [](const Explanation::Array& array) {
                             return py::dict("kind"_a = word_for(array.kind), "name"_a = array.name,
                                             "shape"_a = sizes_of(array.shape),
                                             "dtype"_a = std::string(name_of(array.dtype)),
                                             "bytes"_a = array.bytes, "has_gradient"_a = array.has_gradient);
                           }),
      "passes"_a = list_of(explanation.passes, [](const PassNote& note) { return dict_of(note); }),
      "apart"_a = list_of(explanation.apart,
                          [](const FusionLog::Apart& apart) {
                            return py::dict("name"_a = apart.name, "op"_a = apart.op, "input"_a = apart.input,
                                            "input_op"_a = apart.input_op, "reason"_a = apart.reason);
                          }),
      "whole"_a = list_of(explanation.whole,
                          [](const WholeNote& note) {
                            return py::dict("name"_a = note.name, "op"_a = note.op,
                                            "runs"_a = word_for(note.runs), "reason"_a = note.reason);
                          }),
      "program"_a = dict_of(explanation.program),
      "held"_a = list_of(explanation.held,
                         [](const Explanation::Held& held) {
                           return py::dict("name"_a = held.name, "shape"_a = sizes_of(held.shape),
                                           "bytes"_a = held.bytes);
                         }),
      "budget"_a = py::none(), "strategies"_a = py::none());
  if (const auto& budget = explanation.budget) {
    result["budget"] = py::dict("bytes"_a = budget->bytes, "bytes_without"_a = budget->bytes_without,
                                "estimated_ms_without"_a = budget->estimated_ns_without / 1e6);
  }
  if (explanation.strategies) result["strategies"] = sharing_dict(*explanation.strategies);
  return result;
}

}  // namespace loomix::python
