// SPDX-License-Identifier: Apache-2.0
#include "ops/shape_rule.h"

#include <atomic>
#include <utility>

namespace loomix::ops {
namespace {

constinit thread_local std::optional<bool> here;
constinit std::atomic<bool> everywhere{false};
constinit thread_local std::span<const Shape> shapes_at_hand;

}  // namespace

bool numpy_shapes() noexcept { return here.value_or(everywhere.load(std::memory_order_relaxed)); }
std::optional<bool> exchange_numpy_shapes(std::optional<bool> on) noexcept { return std::exchange(here, on); }
void set_numpy_shapes_of_process(bool on) noexcept { everywhere.store(on, std::memory_order_relaxed); }

std::span<const Shape> input_shapes() noexcept { return shapes_at_hand; }
InputShapesScope::InputShapesScope(std::span<const Shape> shapes) noexcept : before_(input_shapes()) {
  shapes_at_hand = shapes;
}
InputShapesScope::~InputShapesScope() { shapes_at_hand = before_; }

Shape shape_of_attribute(Shape shape) {
  const int64_t least_known = numpy_shapes() ? 0 : 1;
  for (int64_t& size : shape) {
    if (size < least_known) size = kUnknownDim;
  }
  return shape;
}

}  // namespace loomix::ops
