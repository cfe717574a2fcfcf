// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace loomix::engine {

// Sleeps while `word` holds `expected`; may return early. A negative timeout means none. The callers re-check their
// condition, so a spurious return is harmless.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, int64_t timeout_ns = -1) noexcept;
void futex_wake(std::atomic<uint32_t>& word, int count) noexcept;

}  // namespace loomix::engine
