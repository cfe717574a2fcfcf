// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <unordered_map>

#include "engine/trace.h"
#include "symbol/executor/bound_executor.h"
#include "symbol/tuning/tuner.h"

// Branches of a network in prediction: each operator on all cores, one after the other as a rule, or each on one core, side by
// side. Which is faster depends on the machine, so it is measured, or known from an earlier measurement.
namespace loomix {
namespace {

constexpr double kWorthACoreNs = 50'000;

struct VarTimes {
  double written = 0, read = 0;
};

// FNV-1a.
void mix(uint64_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
}

}  // namespace

// Of the forward segment: steps for which several cores are worth it, and whose times overlap if each has one core.
std::vector<uint32_t> Program::find_branches() const {
  struct Span {
    double end;
    uint32_t step;
  };
  std::unordered_map<const engine::Var*, VarTimes> times;
  std::multimap<double, Span> by_begin;
  for (uint32_t i = 0; i < first_backward_; ++i) {
    if (!steps_[i].call || graph_[steps_[i].node].op->impure) return {};
    const OpCall& call = *steps_[i].call;
    double begin = 0;
    for (const engine::Tag& tag : call.tags()) {
      const VarTimes& before = times[tag.var];
      begin = std::max({begin, before.written, tag.access == engine::Access::read ? 0 : before.read});
    }
    const double end = begin + call.cost_ns();
    for (const engine::Tag& tag : call.tags())
      (tag.access == engine::Access::read ? times[tag.var].read : times[tag.var].written) = end;
    if (call.max_cores() > 1 && call.cost_ns() >= kWorthACoreNs) by_begin.emplace(begin, Span{end, i});
  }
  std::vector<uint32_t> found;
  std::vector<Span> running;
  for (const auto& [begin, span] : by_begin) {
    std::erase_if(running, [begin = begin](const Span& other) { return other.end <= begin; });
    for (const Span& other : running) found.push_back(other.step);
    if (!running.empty()) found.push_back(span.step);
    running.push_back(span);
  }
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

void Program::run_branches_apart(std::span<const uint32_t> branches, bool apart) {
  for (const uint32_t i : branches) {
    steps_[i].on_one_core = apart;
    steps_[i].call->limit_cores(apart);
  }
}

std::string Program::fingerprint() const {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const Step& step : steps_) {
    const Node& node = graph_[step.node];
    mix(hash, node.op->name);
    mix(hash, node.attrs->canonical());
    for (const ValueRef& input : graph_.inputs(step.node)) {
      mix(hash, fmt::format("{}.{}:", input.node, input.index));
      mix(hash, known_.shapes[index_[input]].to_string());
    }
    mix(hash, name_of(known_.dtypes[index_(step.node, 0)]));
  }
  return fmt::format("{} operators, {:016x}", steps_.size(), hash);
}

// Runs passes, so the outputs get their values before they are asked for.
void BoundExecutor::choose_branches(Program& program) const {
  if (!runtime_.tuner || monitor_ || !traits().timed_kernels || !program.random().empty()) return;
  const std::vector<uint32_t> branches = program.find_branches();
  if (branches.empty()) return;
  const auto run_ns = [&](size_t way) {
    program.run_branches_apart(branches, way == 1);
    const int64_t begin = engine::Trace::now();
    program.run_forward();
    for (const NDArray& output : outputs_) output.wait_to_read();
    return static_cast<double>(engine::Trace::now() - begin);
  };
  const size_t way = runtime_.tuner->way_of_pass(runtime_, "branches of " + program.fingerprint(),
                                                 {"all cores", "one core each"}, run_ns);
  program.run_branches_apart(branches, way == 1);
}

}  // namespace loomix
