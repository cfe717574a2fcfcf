// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace loomix::engine {

// The size of the OpenMP teams that libraries (oneDNN, BLAS) open from the calling thread. No-ops where no OpenMP
// runtime is loaded.
void set_omp_threads(int count) noexcept;
int omp_threads() noexcept;  // 0: no OpenMP

// Says what is wrong with the loaded BLAS, if its threads are not OpenMP's and so would not obey; else "".
std::string blas_warning();

}  // namespace loomix::engine
