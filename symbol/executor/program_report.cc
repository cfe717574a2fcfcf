// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "ops/blocked/blocked.h"
#include "ops/fused/fused.h"
#include "symbol/executor/explanation.h"
#include "symbol/executor/program.h"
#include "symbol/passes/place.h"

namespace loomix {
namespace {

using Kind = ProgramReport::Kind;
using Place = ProgramReport::Place;

std::string value_name(const Graph& graph, NodeId id, int i) {
  const Node& node = graph[id];
  if (node.forward >= 0 && node.info) {
    for (const auto& [output, name] : node.info->gradients) {
      if (output == i) return node.info->name + '_' + name;
    }
  }
  const std::string& own = i < node.num_outputs
                               ? node.op->output_name(*node.attrs, i)
                               : node.op->saved_names[static_cast<size_t>(i - node.num_outputs)];
  return graph.name_of(id) + '_' + own;
}

std::vector<std::string> parts_of(const Node& node, const ops::OpTable& table) {
  std::vector<std::string> parts;
  if (node.op == &ops::fused_op(table)) {
    const ops::Fusion& fusion = node.attrs->as<ops::FusedParams>().of();
    for (const ops::FusedStep& step : fusion.steps()) parts.push_back(step.op->name);
    for (const ops::FusedClosing& closing : fusion.closings()) parts.push_back(closing.op->name);
  }
  return parts;
}

template <class Field>
int64_t sum(const std::vector<memplan::Arena>& arenas, Field field) {
  return std::transform_reduce(arenas.begin(), arenas.end(), int64_t{0}, std::plus(),
                               [&](const memplan::Arena& arena) { return arena.*field; });
}

}  // namespace

int64_t ProgramReport::planned_bytes() const { return sum(arenas, &memplan::Arena::bytes); }
int64_t ProgramReport::naive_bytes() const { return sum(arenas, &memplan::Arena::naive); }
int64_t ProgramReport::lower_bound() const { return sum(arenas, &memplan::Arena::lower_bound); }
double ProgramReport::estimated_ns() const {
  return std::transform_reduce(calls.begin(), calls.end(), 0.0, std::plus(),
                               [](const Call& call) { return call.estimated_ns; });
}

ProgramReport Program::report() const {
  const memplan::Plan& memory = plan_.memory;
  ProgramReport report;
  report.num_nodes = graph_.size();
  report.num_views = static_cast<int>(std::ranges::count(plan_.elided, char{true}));
  report.num_inplace =
      static_cast<int>(std::ranges::count_if(memory.inplace_of, [](int32_t v) { return v >= 0; }));
  report.num_waits = static_cast<int>(memory.edges.size());
  report.num_tasks = num_tasks();
  report.arenas = memory.arenas;
  std::unordered_set<const NodeInfo*> forward;
  std::vector<int32_t> call_of(static_cast<size_t>(graph_.size()), -1);
  int32_t calls = 0;
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (graph_[id].forward < 0 && graph_[id].info) forward.insert(graph_[id].info.get());
    if (!graph_[id].is_variable() && !plan_.elided[id]) call_of[id] = calls++;
  }
  for (const memplan::Arena& arena : report.arenas) report.peaks.push_back(call_of[arena.peak]);
  std::vector<int32_t> place_of(plan_.values.size(), -1);  // in report.values
  for (NodeId id = 0; id < graph_.size(); ++id) {
    if (call_of[id] < 0) continue;
    ProgramReport::Call& call = report.calls.emplace_back(report_call(id));
    call.again = call.is_backward() && graph_[id].info && forward.contains(graph_[id].info.get());
    report.num_forward += call.is_backward() ? 0 : 1;
    call.first_value = static_cast<int32_t>(report.values.size());
    const auto add = [&](int value, ProgramReport::Value entry) {
      const bool is_scratch = value >= index_.size();
      const int root = is_scratch ? value : plan_.root[value];  // another one if this is a part of it
      const memplan::Value& planned = plan_.values[root];
      entry.last = call_of[planned.readers.empty() ? id : planned.readers.back()];
      entry.offset = memory.offset[root];
      if (root != value) entry.offset += plan_.begin[value] * size_of(entry.dtype);
      if (memory.inplace_of[value] >= 0) entry.inplace_of = place_of[memory.inplace_of[value]];
      place_of[value] = static_cast<int32_t>(report.values.size());
      report.values.push_back(std::move(entry));
    };
    for (int i = 0; i < graph_[id].num_values(); ++i) add(index_(id, i), report_value(id, i));
    if (const int64_t bytes = scratch_bytes_[id]; bytes > 0) {
      const int value = scratch_value(id);
      ProgramReport::Value scratch;
      scratch.kind = Kind::scratch;
      scratch.place = plan_.planned(value) ? Place::planned : Place::own;
      scratch.shape = {bytes};
      scratch.dtype = DType::uint8;
      scratch.bytes = bytes;
      add(value, std::move(scratch));
    }
    call.num_values = static_cast<int32_t>(report.values.size()) - call.first_value;
  }
  for (size_t i = 0; i < steps_.size(); ++i) {
    if (!steps_[i].call) continue;
    ProgramReport::Call& call = report.calls[i];
    call.kernel = steps_[i].call->kernel().name;
    call.num_detours = static_cast<int>(steps_[i].call->num_detours());
    call.last_ns = steps_[i].call->last_ns();
    report.num_on_one_core += steps_[i].on_one_core ? 1 : 0;
  }
  return report;
}

ProgramReport::Call Program::report_call(NodeId id) const {
  const Node& node = graph_[id];
  ProgramReport::Call call;
  call.node = id;
  call.name = graph_.name_of(id);
  call.op = node.op->name;
  call.device = devices_[id];
  if (node.forward >= 0) call.gradient_of = graph_.name_of(node.forward);
  call.parts = parts_of(node, runtime_.table());
  call.converts_layout = ops::converts_layout(*node.op);
  call.kernel = choices_[id].kernel ? choices_[id].kernel->name : "transfer";
  call.estimated_ns = choices_[id].cost_ns;
  return call;
}

ProgramReport::Value Program::report_value(NodeId id, int i) const {
  const int value = index_(id, i);
  const bool is_saved = i >= graph_[id].num_outputs;
  ProgramReport::Value entry;
  entry.kind = is_saved ? Kind::saved : Kind::output;
  entry.name = value_name(graph_, id, i);
  entry.shape = known_.shapes[value];
  entry.dtype = known_.dtypes[value];
  entry.bytes = entry.shape.size() * size_of(entry.dtype);
  const bool is_unused =
      requests_[value] == ops::Req::null || (is_saved && plan_.values[value].readers.empty());
  if (!plan_.planned(plan_.root[value])) entry.place = is_unused ? Place::unused : Place::own;
  if (entry.place == Place::unused) entry.bytes = 0;
  return entry;
}

std::string to_text(const ProgramReport& report) {
  const auto megabytes = [](int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); };
  std::string text = fmt::format(
      "{} nodes, {} calls ({} forward), {} views, {} in place\n"
      "planned {:.2f} MB, in memory of their own {:.2f} MB, lower bound {:.2f} MB\n",
      report.num_nodes, report.calls.size(), report.num_forward, report.num_views, report.num_inplace,
      megabytes(report.planned_bytes()), megabytes(report.naive_bytes()), megabytes(report.lower_bound()));
  if (report.num_waits > 0) text += fmt::format("{} waits for memory\n", report.num_waits);
  for (const ProgramReport::Call& call : report.calls) {
    text += fmt::format("{:>5} {:<24} {:<28} {}", call.node, call.op, call.name, call.kernel);
    for (int32_t i = 0; i < call.num_values; ++i) {
      const ProgramReport::Value& value = report.values[static_cast<size_t>(call.first_value + i)];
      if (value.kind == Kind::scratch) text += fmt::format("  scratch {} bytes", value.bytes);
      else text += fmt::format("  {} {}", value.shape.to_string(), name_of(value.dtype));
      if (value.place == Place::unused) text += " unused";
      else if (value.place == Place::own) text += " own";
      else text += fmt::format(" @{}{}", value.offset, value.inplace_of >= 0 ? " in place" : "");
    }
    if (call.num_detours > 0) text += fmt::format("  {} by a copy", call.num_detours);
    text += '\n';
  }
  return text;
}

}  // namespace loomix
