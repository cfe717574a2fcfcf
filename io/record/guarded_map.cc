// SPDX-License-Identifier: Apache-2.0
#include "io/record/guarded_map.h"

#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <mutex>

namespace loomix::io {
namespace {

// A thread that copies out of a map takes a place here, and says from where. The handler of SIGBUS runs on that thread;
// if the address is the place's, it jumps back into copy(). No thread_local: the handler might have to allocate it.
struct Place {
  std::atomic<pthread_t> thread{0};
  const volatile uint8_t* begin = nullptr;
  const volatile uint8_t* end = nullptr;
  sigjmp_buf* back = nullptr;
};
constexpr size_t kPlaces = 64;
Place places[kPlaces];

// Null if all are taken.
Place* take_place() {
  const pthread_t self = pthread_self();
  for (size_t i = 0; i < kPlaces; ++i) {
    Place& place = places[((self >> 12) + i) & (kPlaces - 1)];
    pthread_t nobody = 0;
    if (place.thread.compare_exchange_strong(nobody, self, std::memory_order_acquire)) return &place;
  }
  return nullptr;
}

struct sigaction before_us;

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const auto* address = static_cast<const uint8_t*>(info->si_addr);
  for (Place& place : places) {
    if (place.thread.load(std::memory_order_relaxed) == pthread_self() && address >= place.begin &&
        address < place.end) {
      siglongjmp(*place.back, 1);
    }
  }
  if ((before_us.sa_flags & SA_SIGINFO) != 0) return before_us.sa_sigaction(signal, info, context);
  if (before_us.sa_handler != SIG_DFL && before_us.sa_handler != SIG_IGN) return before_us.sa_handler(signal);
  sigaction(signal, &before_us, nullptr);
  if (info->si_code <= 0) raise(signal);  // sent by a process; a fault happens again by itself
}

bool handler_is_ours() {
  struct sigaction now;
  return sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == on_bus_error;
}

void install() {
  struct sigaction ours {};
  ours.sa_sigaction = on_bus_error;
  ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;  // not deferred: siglongjmp does not restore the mask
  sigemptyset(&ours.sa_mask);
  sigaction(SIGBUS, &ours, &before_us);
}

bool guarded_copy(uint8_t* out, const uint8_t* from, size_t bytes) {
  Place* const place = take_place();
  if (place == nullptr) return false;
  sigjmp_buf back;
  place->back = &back;
  const uintptr_t page = 4096;  // the kernel may name the page's address instead of the byte's
  place->begin = reinterpret_cast<const uint8_t*>(reinterpret_cast<uintptr_t>(from) & ~(page - 1));
  place->end = from + bytes;
  const bool whole = sigsetjmp(back, 0) == 0;
  if (whole) {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memcpy(out, from, bytes);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  place->begin = place->end = nullptr;
  place->thread.store(0, std::memory_order_release);
  return whole;
}

}  // namespace

std::unique_ptr<GuardedMap> GuardedMap::make(int descriptor, size_t bytes) {
  static std::once_flag once;
  std::call_once(once, install);
  if (bytes == 0 || !handler_is_ours()) return nullptr;
  void* data = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) return nullptr;
  return std::unique_ptr<GuardedMap>(new GuardedMap(static_cast<const uint8_t*>(data), bytes));
}

GuardedMap::~GuardedMap() { munmap(const_cast<uint8_t*>(data_), bytes_); }

bool GuardedMap::copy(size_t offset, std::span<uint8_t> out) {
  // A program that takes the handler over is noticed soon: asking each time would cost as much as the copy.
  constexpr uint32_t kAskEvery = 64;
  if (copies_++ % kAskEvery == 0 && !handler_is_ours()) {
    --copies_;
    return false;
  }
  return guarded_copy(out.data(), data_ + offset, out.size());
}

}  // namespace loomix::io
