// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "benchmarks/engine/cases.h"

namespace engine_cases {

// The cases on the engine of MXNet 1.x, whose library is at `path`. Its number of workers is MXNET_CPU_WORKER_NTHREADS.
std::vector<Case> mxnet_cases(const std::string& path);

}  // namespace engine_cases
