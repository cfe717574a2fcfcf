// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::engine {

inline void set_omp_threads(int) noexcept {}  // there are no libraries with threads of their own

}  // namespace loomix::engine
