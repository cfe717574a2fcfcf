// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace loomix::cuda {

// `kCount` neighbours in memory, moved by one access.
template <class T, int kCount>
struct alignas(sizeof(T) * kCount) Pack {
  T item[kCount];
};

}  // namespace loomix::cuda
