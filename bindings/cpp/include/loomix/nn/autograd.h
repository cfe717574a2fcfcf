// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/array.h"

// Gradients of what runs.
namespace loomix::nn {

namespace detail {

class Mode {
 public:
  Mode(int recording, int training) {
    check(LoomixAutogradSetMode(recording, training, &recording_, &training_));
  }
  Mode(const Mode&) = delete;
  Mode& operator=(const Mode&) = delete;
  ~Mode() { LoomixAutogradSetMode(recording_, training_, nullptr, nullptr); }

 private:
  int recording_ = 0, training_ = 0;
};

}  // namespace detail

// Until the end of the scope, what this thread runs is recorded, in training mode.
class Record : detail::Mode {
 public:
  explicit Record(bool training = true) : Mode(1, training) {}
};
// Nothing is recorded; the mode is for inference.
class Pause : detail::Mode {
 public:
  explicit Pause(bool training = false) : Mode(0, training) {}
};

inline bool is_recording() {
  int recording = 0;
  detail::check(LoomixAutogradSetMode(-1, -1, &recording, nullptr));
  return recording != 0;
}
inline bool is_training() {
  if (detail::current_trace()) detail::current_trace()->reads_mode = true;
  int training = 0;
  detail::check(LoomixAutogradSetMode(-1, -1, nullptr, &training));
  return training != 0;
}

// The gradients of the sum of all heads.
inline void backward(const Arrays& heads, bool retain_graph = false) {
  std::vector<LoomixArray> of;
  for (const Array& head : heads) of.push_back(head.handle());
  detail::check(LoomixAutogradBackward(of.size(), of.data(), nullptr, retain_graph, 1));
}

}  // namespace loomix::nn
