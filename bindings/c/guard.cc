// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/guard.h"

#include <string>

namespace loomix::c {
namespace {

thread_local std::string text_of_thread;

}  // namespace

const char* last_error() noexcept { return text_of_thread.c_str(); }

void set_last_error(const char* text) noexcept {
  try {
    text_of_thread = text;
  } catch (...) {  // no memory for the text
    text_of_thread.clear();
  }
}

}  // namespace loomix::c
