// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/fused/fused.h"

// A fused pass as the source of one kernel for the device.
namespace loomix::ops {

struct FusedProgram {
  std::string source;           // of a kernel that takes a cuda::FusedArguments
  std::vector<double> numbers;  // its argument of this name
  int items = 1;                // elements that a thread computes at once
};

// `written`: steps whose results are written, in the order of the kernel's outputs. Nothing where a step has no such form. The source
// depends on operators, types and how inputs spread, not on shapes and numbers.
std::optional<FusedProgram> fused_program(const Fusion& fusion, std::span<const DType> inputs,
                                          std::span<const int> written);

}  // namespace loomix::ops
