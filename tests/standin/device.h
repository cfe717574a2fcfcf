// SPDX-License-Identifier: Apache-2.0
#pragma once

// The words of CUDA's device code for a host compiler. The stand-in's build of the CUDA module includes this file before every
// source (-include), so that the same .cu files run here: blocks one after the other on the stream's thread, in an order that
// changes from launch to launch, the threads of a block as fibres (blocks.cc).
#include <cuda_runtime_api.h>
#include <device_launch_parameters.h>  // before the words below are defined
#include <vector_functions.h>
#include <vector_types.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <utility>

#undef __global__
#undef __device__
#undef __host__
#undef __shared__
#undef __constant__
#undef __forceinline__
#undef __launch_bounds__
#define __global__
#define __device__
#define __host__
#define __shared__ \
  static thread_local  // a block runs on one thread of the host; see forget_shared() in blocks.cc
#define __constant__ static const
#define __forceinline__ inline
#define __launch_bounds__(...)

namespace loomix::standin {

// A thread of a block that runs.
struct Fibre {
  uint3 thread, block;
  dim3 threads, blocks;
  int place = 0;  // in the block, row-major with x innermost
};
extern thread_local const Fibre* running;

void put_grid(cudaStream_t stream, dim3 blocks, dim3 threads, std::function<void()> kernel);
// Until all threads of the block have come. The second form merges what they bring: how many brought true.
void sync_block();
int count_block(bool value);
// What the other lanes of `mask` bring, by lane: valid until the next exchange. Each lane of the mask takes part.
const uint64_t* exchange(unsigned mask, uint64_t value);
// A violated rule of the device (an address, a barrier): noted as the stream's error.
[[noreturn]] void fail(const char* what);

template <class T>
T shuffle(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= 8);
  uint64_t word = 0;
  std::memcpy(&word, &value, sizeof(T));
  word = exchange(mask, word)[source];
  std::memcpy(&value, &word, sizeof(T));
  return value;
}
inline int lane() { return running->place % 32; }

}  // namespace loomix::standin

#define threadIdx (loomix::standin::running->thread)
#define blockIdx (loomix::standin::running->block)
#define blockDim (loomix::standin::running->threads)
#define gridDim (loomix::standin::running->blocks)
inline constexpr int warpSize = 32;

inline void __syncthreads() { loomix::standin::sync_block(); }
inline int __syncthreads_count(int value) { return loomix::standin::count_block(value != 0); }
inline int __syncthreads_or(int value) { return loomix::standin::count_block(value != 0) > 0; }
inline int __syncthreads_and(int value) { return loomix::standin::count_block(value == 0) == 0; }
inline void __syncwarp(unsigned mask = 0xffffffffu) { loomix::standin::exchange(mask, 0); }
inline void __threadfence() { std::atomic_thread_fence(std::memory_order_seq_cst); }
inline void __threadfence_block() {}
inline unsigned __activemask() { return 0xffffffffu; }

template <class T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int lane = loomix::standin::lane();
  return loomix::standin::shuffle(mask, value, lane / width * width + source % width);
}
template <class T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = loomix::standin::lane();
  const int source = lane ^ bits;
  return loomix::standin::shuffle(mask, value, source / width > lane / width ? lane : source);
}
template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = loomix::standin::lane();
  const int source = lane + static_cast<int>(delta);
  return loomix::standin::shuffle(mask, value, source / width == lane / width ? source : lane);
}
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = loomix::standin::lane();
  const int source = lane - static_cast<int>(delta);
  return loomix::standin::shuffle(mask, value, source >= lane / width * width ? source : lane);
}
inline unsigned __ballot_sync(unsigned mask, int value) {
  const uint64_t* const all = loomix::standin::exchange(mask, value != 0);
  unsigned bits = 0;
  for (int i = 0; i < 32; ++i) {
    if ((mask >> i & 1) != 0 && all[i] != 0) bits |= 1u << i;
  }
  return bits;
}
inline int __any_sync(unsigned mask, int value) { return __ballot_sync(mask, value) != 0; }
inline int __all_sync(unsigned mask, int value) { return __ballot_sync(mask, value) == mask; }

// ---- arithmetic -----------------------------------------------------------------------------------------------------

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) { return std::countl_zero(static_cast<unsigned long long>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline int __ffsll(long long x) {
  return x == 0 ? 0 : std::countr_zero(static_cast<unsigned long long>(x)) + 1;
}
inline unsigned __brev(unsigned x) {
  unsigned y = 0;
  for (int i = 0; i < 32; ++i) y |= (x >> i & 1) << (31 - i);
  return y;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return static_cast<unsigned>(uint64_t{a} * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return static_cast<unsigned long long>(static_cast<unsigned __int128>(a) * b >> 64);
}
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float rsqrtf(float x) { return 1 / std::sqrt(x); }
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
template <class T>
T __ldg(const T* at) {
  return *at;
}
using std::max;
using std::min;

// ---- atomics: blocks of other streams may run at the same time ---------------------------------------------------------

namespace loomix::standin {
template <class T, class Change>
T change(T* at, Change change) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 2);
  std::atomic_ref<T> place(*at);
  T old = place.load();
  while (!place.compare_exchange_weak(old, change(old))) {}
  return old;
}
}  // namespace loomix::standin

template <class T>
T atomicAdd(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return static_cast<T>(old + value); });
}
template <class T>
T atomicSub(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return static_cast<T>(old - value); });
}
template <class T>
T atomicMax(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return old > value ? old : value; });
}
template <class T>
T atomicMin(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return old < value ? old : value; });
}
template <class T>
T atomicOr(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return old | value; });
}
template <class T>
T atomicAnd(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return old & value; });
}
template <class T>
T atomicXor(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return old ^ value; });
}
template <class T>
T atomicExch(T* at, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T) { return value; });
}
template <class T>
T atomicCAS(T* at, std::type_identity_t<T> expected, std::type_identity_t<T> value) {
  return loomix::standin::change(at, [=](T old) { return old == expected ? value : old; });
}
