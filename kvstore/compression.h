// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/params.h"
#include "ops/compression/codes.h"

namespace loomix::kvstore {

// Gradients made smaller before they travel, as users say it. `topk` is between machines only.
struct CompressionParams {
  std::string type = "none";
  float threshold = 0.5f;
  float ratio = 0.01f;
  static void fields(FieldList<CompressionParams>& f);
  bool enabled() const noexcept { return type != "none"; }
  bool two_bit() const noexcept { return type == "2bit"; }
  bool top_k() const noexcept { return type == "topk"; }
  ops::Code code() const;
  bool has_residual() const { return code().has_residual(); }
};

}  // namespace loomix::kvstore
