// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "ndarray/ndarray.h"
#include "ops/op.h"

namespace loomix {

// What the executors of one model compute for prediction from weights alone, so that it is in memory once, however many there
// are; and the names of weights that were let go, since only this is read. Those weights never change. Any thread may call.
class HeldValues final : public RefCounted {
 public:
  // By the text of what computes it; none if it is not there.
  NDArray find(const std::string& key) const;
  void keep(const std::string& key, const NDArray& value);  // the first of a key stays

  // A value from which an operator makes the one that it was computed from.
  struct Form {
    std::string key;
    const ops::OpDef* undo = nullptr;
    Ref<const AttrsBase> attrs;
  };
  void note_form(const std::string& of, Form form);
  std::optional<Form> form_of(const std::string& of) const;

  void let_go(const std::string& weight);
  bool is_gone(std::string_view weight) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, NDArray> values_;
  std::map<std::string, Form> forms_;
  std::set<std::string, std::less<>> gone_;
};

}  // namespace loomix
