// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace loomix {

// While it lives, large arrays that its thread makes are said to be `what` of `whose` in MemoryError, as in "output of
// FullyConnected" or "argument fc1_weight". Both have to outlive it. Scopes nest; costs two stores.
class ArrayOrigin {
 public:
  ArrayOrigin(const char* what, std::string_view whose) noexcept
      : outer_(current_), what_(what), whose_(whose) {
    current_ = this;
  }
  ~ArrayOrigin() { current_ = outer_; }
  ArrayOrigin(const ArrayOrigin&) = delete;
  ArrayOrigin& operator=(const ArrayOrigin&) = delete;

  // Empty outside of all scopes.
  static std::string current() {
    if (current_ == nullptr) return {};
    std::string text(current_->what_);
    if (!current_->whose_.empty()) text.append(" ").append(current_->whose_);
    return text;
  }

 private:
  static inline constinit thread_local const ArrayOrigin* current_ = nullptr;
  const ArrayOrigin* const outer_;
  const char* const what_;
  const std::string_view whose_;
};

}  // namespace loomix
