// SPDX-License-Identifier: Apache-2.0
#include "engine/omp_threads.h"

// Weak, so that the engine needs no OpenMP itself: null unless a library of the process brings it.
extern "C" {
[[gnu::weak]] void omp_set_num_threads(int);
[[gnu::weak]] int omp_get_max_threads();
[[gnu::weak]] int openblas_get_parallel();
}

namespace loomix::engine {

void set_omp_threads(int count) noexcept {
  if (omp_set_num_threads) omp_set_num_threads(count);
}

int omp_threads() noexcept { return omp_get_max_threads ? omp_get_max_threads() : 0; }

std::string blas_warning() {
  constexpr int kSequential = 0, kOpenMp = 2;
  if (!openblas_get_parallel) return {};
  const int kind = openblas_get_parallel();
  if (kind == kOpenMp || kind == kSequential) return {};
  return "[engine] OpenBLAS is loaded in its pthread flavour, whose threads compete with the engine's; "
         "install libopenblas-openmp-dev and build again.";
}

}  // namespace loomix::engine
