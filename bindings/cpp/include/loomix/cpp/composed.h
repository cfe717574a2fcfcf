// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/cpp/operator.h"

namespace loomix::cpp::detail {

// What the functions of op.h do: an operator whose parameters are written only where they differ from their defaults.
class Composed {
 public:
  explicit Composed(const char* name) : operator_(name) {}
  Composed& input(const char* name, const Symbol& symbol) {
    operator_.SetInput(name, symbol);
    return *this;
  }
  Composed& inputs(const std::vector<Symbol>& symbols) {
    operator_(symbols);
    return *this;
  }
  template <class T>
  Composed& set(const char* name, const T& value) {
    operator_.SetParam(name, to_text(value));  // of enumerations: found beside them
    return *this;
  }
  template <class T>
  Composed& set(const char* name, const std::optional<T>& value) {
    return value ? set(name, *value) : *this;
  }
  template <class T, class Default>
  Composed& set(const char* name, const T& value, const Default& usual) {
    return value == usual ? *this : set(name, value);
  }
  Symbol make(const std::string& name) const { return operator_.CreateSymbol(name); }

 private:
  Operator operator_;
};

}  // namespace loomix::cpp::detail
