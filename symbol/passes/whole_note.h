// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace loomix {

// How prediction runs a layer of 8 bits. `packed`: with its neighbours in 8 bits; `alone`: as the operator of 8 bits that it is;
// `real`: as a layer of float32.
struct WholeNote {
  enum class Runs : uint8_t { packed, alone, real };
  std::string name = {}, op = {};
  Runs runs = Runs::packed;
  const char* reason = "";  // why it is not packed
};

}  // namespace loomix
