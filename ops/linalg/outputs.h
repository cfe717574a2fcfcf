// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "ops/kernel.h"
#include "ops/scratch_slots.h"

namespace loomix::ops {

// An output, or room in the scratch memory where nobody wants it but the routine writes to it.
inline size_t room_bytes(const KernelSpec& spec, size_t output) {
  return spec.req[output] == Req::null ? aligned(static_cast<size_t>(spec.out[output].bytes())) : 0;
}

class Outputs {
 public:
  explicit Outputs(const KernelArgs& args) : args_(args), rest_(args.scratch) {}
  template <class T>
  T* take(size_t output) {
    if (args_.req[output] != Req::null) return args_.out[output].mutable_as<T>();
    T* room = reinterpret_cast<T*>(rest_.data());
    rest_ = rest_.subspan(aligned(static_cast<size_t>(args_.out[output].bytes())));
    return room;
  }
  std::span<std::byte> rest() const { return rest_; }

 private:
  const KernelArgs& args_;
  std::span<std::byte> rest_;
};

}  // namespace loomix::ops
