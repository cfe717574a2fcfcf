// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <exception>

namespace loomix::c {

const char* last_error() noexcept;  // of this thread
void set_last_error(const char* text) noexcept;

// What a C function returns: 0, or -1 if `body` throws, whose error is the thread's last one then.
template <class Body>
int guarded(Body&& body) noexcept {
  try {
    body();
    return 0;
  } catch (const std::exception& error) {
    set_last_error(error.what());
  } catch (...) {
    set_last_error("an unknown error");
  }
  return -1;
}

}  // namespace loomix::c
