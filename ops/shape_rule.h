// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "base/shape.h"

// How sizes are written in attributes and at the API. By MXNet's old rule a size of 0 is one that inference finds out, and
// so is the whole shape (). By NumPy's, 0 and () are what they say, and -1 is unknown.
namespace loomix::ops {

// Whether NumPy's rule holds on this thread.
bool numpy_shapes() noexcept;
// Sets it for this thread and returns the setting before; none follows the setting of the process.
std::optional<bool> exchange_numpy_shapes(std::optional<bool> on) noexcept;
void set_numpy_shapes_of_process(bool on) noexcept;

// The shapes of the inputs of the node whose types are being inferred on this thread, where they are known: for types that
// follow from sizes, such as that of an index.
std::span<const Shape> input_shapes() noexcept;
class InputShapesScope {
 public:
  explicit InputShapesScope(std::span<const Shape> shapes) noexcept;
  InputShapesScope(const InputShapesScope&) = delete;
  InputShapesScope& operator=(const InputShapesScope&) = delete;
  ~InputShapesScope();

 private:
  std::span<const Shape> before_;
};

// The shape that an operator's attribute asks for.
Shape shape_of_attribute(Shape shape);

}  // namespace loomix::ops
