// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <initializer_list>

#include <fmt/core.h>

#include "kvstore/optimizer_rule.h"
#include "symbol/executor/run_node.h"

namespace loomix::kvstore {

// Operators on the way to one weight's update.
class Steps {
 public:
  Steps(Runtime& runtime, int8_t priority) : runtime_(runtime), priority_(priority) {}
  NDArray operator()(const char* op, std::initializer_list<NDArray> in, const TextPairs& attrs = {}) const {
    RunOptions options;
    options.priority = priority_;
    return run_node(runtime_, op, in, attrs, options)[0];
  }
  NDArray scalar(const char* op, const NDArray& in, double value) const {
    return (*this)(op, {in}, {{"scalar", fmt::format("{}", value)}});
  }
  void into(const NDArray& target, const char* op, std::initializer_list<NDArray> in,
            const TextPairs& attrs = {}) const {
    NDArray to = target;
    NDArray* const out[] = {&to};
    RunOptions options;
    options.out = out;
    options.priority = priority_;
    run_node(runtime_, op, in, attrs, options);
  }
  NDArray norm(const NDArray& array) const {
    return (*this)("sqrt", {(*this)("sum", {(*this)("square", {array})})});
  }

 private:
  Runtime& runtime_;
  const int8_t priority_;
};

}  // namespace loomix::kvstore
