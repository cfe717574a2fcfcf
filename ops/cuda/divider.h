// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace loomix::cuda {

// Division by a number that is known before the kernel runs. Up to 2^31 by a multiplication (T. Granlund and P. Montgomery, "Division by
// invariant integers using multiplication", 1994), beyond by the division itself.
class Divider {
 public:
  Divider() = default;
  explicit Divider(int64_t divisor) : divisor_(divisor) {
    if (divisor <= 0 || divisor >= (int64_t{1} << 31)) return;
    while (shift_ < 32 && (int64_t{1} << shift_) < divisor) ++shift_;
    magic_ = static_cast<uint32_t>(
        ((uint64_t{1} << 32) * ((uint64_t{1} << shift_) - static_cast<uint64_t>(divisor))) /
            static_cast<uint64_t>(divisor) +
        1);
  }
  // For any n that is not negative.
  __host__ __device__ int64_t quotient(int64_t n) const {
    if (n >= (int64_t{1} << 31) || divisor_ >= (int64_t{1} << 31)) return n / divisor_;
    const auto small = static_cast<uint32_t>(n);
    const auto high = static_cast<uint32_t>((static_cast<uint64_t>(small) * magic_) >> 32);
    return static_cast<int64_t>((static_cast<uint64_t>(high) + small) >> shift_);
  }
  __host__ __device__ int64_t divisor() const { return divisor_; }

 private:
  int64_t divisor_ = 1;
  uint32_t magic_ = 1;
  int shift_ = 0;
};

}  // namespace loomix::cuda
