// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbol/executor/explanation.h"
#include "symbol/graph.h"

namespace loomix {

// Notes what each pass of one compilation changed, by names and operators. A value type.
class PassLog {
 public:
  PassLog();
  // The pass ends now, with this graph.
  void note(std::string_view pass, const Graph& graph);
  const std::vector<PassNote>& notes() const { return notes_; }

  std::optional<BudgetNote> budget;
  std::vector<FusionLog::Apart> apart;
  std::vector<WholeNote> whole;

 private:
  struct Operators {
    std::map<std::string, int, std::less<>> names;  // "" for those without one
    bool converts_layout = false;
  };
  struct Inventory {
    std::map<std::string, Operators, std::less<>> operators;
    int count = 0, held = 0;
  };
  static Inventory inventory_of(const Graph& graph);
  static std::vector<PassNote::Operators> more(const Inventory& in, const Inventory& than);

  Inventory last_;
  int64_t ended_ns_ = 0;
  std::vector<PassNote> notes_;
};

}  // namespace loomix
