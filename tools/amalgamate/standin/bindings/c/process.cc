// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/process.h"

#include <memory>

#include "older_library.h"
#include "symbol/control_flow/control_flow.h"

namespace loomix::c {

engine::Engine& engine() {
  static engine::Engine& made = *std::make_unique<engine::Engine>().release();
  return made;
}

const ops::OpTable& table() {
  static const ops::OpTable& made = []() -> const ops::OpTable& {
    auto& all = *std::make_unique<ops::OpTable>().release();
    ops::register_all(all);
    control_flow::register_operators(all);
    all.validate();
    return all;
  }();
  return made;
}

void release_unused() {
#if defined(__GLIBC__)
  ::malloc_trim(0);
#endif
}

}  // namespace loomix::c
