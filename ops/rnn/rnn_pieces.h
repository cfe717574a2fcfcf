// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <limits>

#include "ops/rnn/rnn.h"
#include "ops/rnn/rnn_loops.h"

// What kernels of recurrent layers share on all devices.
namespace loomix::ops {

// Hands out pieces of scratch memory, one after the other; without memory it only counts.
class ScratchPieces {
 public:
  explicit ScratchPieces(std::byte* memory) : memory_(memory) {}

  template <class T>
  T* take(int64_t count) {
    constexpr size_t kLine = 64;
    T* const piece = memory_ ? reinterpret_cast<T*>(memory_ + used_) : nullptr;
    used_ += (static_cast<size_t>(count) * sizeof(T) + kLine - 1) / kLine * kLine;
    return piece;
  }
  size_t used() const { return used_; }

 private:
  std::byte* memory_;
  size_t used_ = 0;
};

template <class C>
CellClip<C> cell_clip(const RnnParams& p) {
  using Limits = std::numeric_limits<C>;
  const C low = p.lstm_state_clip_min ? static_cast<C>(*p.lstm_state_clip_min) : -Limits::infinity();
  const C high = p.lstm_state_clip_max ? static_cast<C>(*p.lstm_state_clip_max) : Limits::infinity();
  const bool stops_nan = p.lstm_state_clip_min && p.lstm_state_clip_nan;
  return {low, high, stops_nan ? low : Limits::quiet_NaN(), stops_nan ? C{0} : C{1}};
}

}  // namespace loomix::ops
