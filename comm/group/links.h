// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "comm/process_group.h"
#include "engine/inline_function.h"

// What carries the messages of groups between the ranks of a job: MPI, a network, or this process's memory for tests. Of no interest
// to those who use groups.
namespace loomix::comm {

class LinkEvents {
 public:
  virtual void on_post(int from, std::string&& message) = 0;
  virtual void on_lost(int rank, const std::string& why) = 0;  // it is not there any more

 protected:
  ~LinkEvents() = default;
};

// All calls but wake() come from one thread.
class GroupLinks {
 public:
  // Called, during poll(), when the memory is done with.
  using Finished = engine::InlineFunction<void(), 48>;
  static constexpr size_t kMostPost = 4096;  // bytes

  virtual ~GroupLinks() = default;
  virtual std::string kind() const = 0;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Short messages; those of one pair of ranks arrive in order.
  virtual void post(int to, std::string message) = 0;
  // A body meets its place where both ranks give the same number, which is never used twice for a pair of ranks. No copy.
  virtual void send(int to, uint64_t number, std::span<const std::byte> body, Finished finished) = 0;
  virtual void receive(int from, uint64_t number, std::span<std::byte> place, Finished finished) = 0;
  // Likewise in parts, between ranks that are reached so; the others are never asked to.
  virtual bool takes_parts(int) const { return false; }
  virtual void send_parts(int, uint64_t, PartsRef, Finished) {}
  virtual void receive_parts(int, uint64_t, PartsRef, Finished) {}
  // Tells what has happened; whether anything has.
  virtual bool poll(LinkEvents& events) = 0;
  virtual bool busy() const = 0;  // bodies are on the way
  // Until something happens, or wake(), as far as it can be told. `awaited`: a call waits for it.
  virtual void wait(std::chrono::microseconds at_most, bool awaited) = 0;
  virtual void wake() noexcept = 0;  // from any thread
  // The last call before the process ends: waits, for a moment, until all that was posted has arrived.
  virtual void flush() {}
  // Ends all processes of the job, this one too, where there is a way to. `why` is said.
  virtual void abort(const std::string& why) = 0;
};

}  // namespace loomix::comm
