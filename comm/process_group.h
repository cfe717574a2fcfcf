// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "engine/inline_function.h"
#include "engine/trace.h"

namespace loomix::comm {

enum class Reduction : uint8_t { sum, product, minimum, maximum };
const char* name_of(Reduction reduction);

struct GroupOptions {
  std::chrono::milliseconds deadline = std::chrono::minutes(1);  // for ranks that do not answer
  std::chrono::milliseconds late_deadline =
      std::chrono::minutes(30);    // for those that do, and have not called yet
  engine::Trace* trace = nullptr;  // gets a track for each other rank; outlives all calls
  int metrics_port = 0;            // rank r of the job serves its numbers at this + r; 0: not
  std::string metrics_host = "127.0.0.1";
  // Over MPI, of the first group of a process: the most bytes of one of its messages, which it counts by int; whether ranks of one
  // machine share memory.
  size_t mpi_message_bytes = size_t{1} << 30;
  bool mpi_shared_windows = true;
};

// What a group has done so far.
struct GroupTraffic {
  uint64_t calls = 0;
  double waited_s = 0;                   // from calls to their ends, added up
  std::vector<uint64_t> sent, received;  // bytes, by rank of the group
};

// What is sent or received a part at a time, by memory of the links' own: it need not lie anywhere as a whole. Both ranks give the same
// sizes. Parts come in their order, on any thread; what they call must not block.
struct Parts {
  static constexpr size_t kMostBytes = size_t{128} << 10;  // of one
  std::vector<size_t> sizes;
  std::function<void(size_t part, std::byte* to)> fill = {};         // of who sends
  std::function<void(size_t part, const std::byte* from)> use = {};  // of who receives
  size_t bytes() const;
};
using PartsRef = std::shared_ptr<const Parts>;

// Ranks that call collective operations: every rank calls the same ones with the same sizes in the same order. A call returns at once;
// its memory must stay, and not change, until `done` is destroyed, which is after it was called: with null, or with the NetworkError
// that broke the group. `done` runs on the one thread of this process that talks to other ranks, and must not block. Any thread.
//
// Sums are added in the order of ranks, whatever the timing and whatever carries the bytes: each rank adds its share of everybody's
// values, and all get all shares. Sums of 16-bit floats are rounded once per addition.
//
// When a rank is lost, calls something else, or ends, every group that it is in is broken: calls fail with an error that names it.
class ProcessGroup {
 public:
  using Done = engine::InlineFunction<void(std::exception_ptr), 128>;
  static constexpr int kMostTag = 1 << 30;

  ProcessGroup(std::shared_ptr<class GroupNode> node, std::shared_ptr<class GroupState> state);
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;
  std::string kind() const;  // "mpi", "network", "inproc"
  int rank() const;
  int size() const;

  // `in` and `out` may be the same.
  void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction, Done done);
  // `in` has `count` elements for each rank; each gets the reduction of its own.
  void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction, Done done);
  void broadcast(void* data, size_t bytes, int root, Done done);
  // `out` has `bytes` from each rank, in order.
  void all_gather(const void* in, void* out, size_t bytes, Done done);
  // `in` has so many bytes for each rank, one after the other; `out` gets so many from each.
  void all_to_all(const void* in, std::span<const size_t> in_bytes, void* out,
                  std::span<const size_t> out_bytes, Done done);
  void barrier(Done done);
  // In any order. Messages of one pair of ranks with the same tag arrive in order.
  void send(const void* data, size_t bytes, int to, int tag, Done done);
  void receive(void* data, size_t bytes, int from, int tag, Done done);
  // The same in parts, to ranks that are reached so: both of a pair are, or neither. What is sent in parts is received in parts of the
  // same sizes.
  bool takes_parts(int rank) const;
  void send_parts(PartsRef parts, int to, int tag, Done done);
  void receive_parts(PartsRef parts, int from, int tag, Done done);

  // A group of some of the ranks, in this order; each of them calls it, alike. Nothing travels.
  std::unique_ptr<ProcessGroup> subgroup(std::span<const int> ranks);
  // The ranks that give the same color, in the order of keys, then of ranks. Waits for all.
  std::unique_ptr<ProcessGroup> split(int color, int key = 0);

  // Tells all ranks that this one's program ends, and why: their calls fail with it at once.
  void give_up(const std::string& why);
  GroupTraffic traffic() const;

 private:
  void start(std::shared_ptr<class GroupCall> call, int tag = -1);
  void check_rank(int rank, const char* what) const;

  const std::shared_ptr<GroupNode> node_;
  const std::shared_ptr<GroupState> state_;
};

// Starts a call of a group, waits for its end and throws its error. Not from `done` of another one.
void wait_for_call(const std::function<void(ProcessGroup::Done)>& start);

// What lies between the ranks of one process, for tests and benchmarks: each has a line out and one in, as at a switch. Long messages
// follow each other on both; short ones pass them.
struct ArtificialLinks {
  double bytes_per_s = 0;  // of a line; 0: no limit
  std::chrono::microseconds latency{0};
};

// One group per rank, for as many threads of this process.
std::vector<std::unique_ptr<ProcessGroup>> make_inproc_groups(int size, const GroupOptions& options = {},
                                                              const ArtificialLinks& between = {});

// All processes that mpirun started. A module loaded at the first call; throws NetworkError where it is not installed. MPI is
// initialised if nobody did that before, and then ended with the process. A process whose groups broke ends the job. With a
// `communicator` (an MPI_Comm) its ranks, each of which calls this; nothing travels, and it may be freed afterwards.
std::unique_ptr<ProcessGroup> make_mpi_group(const GroupOptions& options = {}, uintptr_t communicator = 0);
bool has_mpi_module() noexcept;  // loads it

// What the module exports as `loomix_mpi_module`.
struct MpiModule {
  int interface_version;
  std::unique_ptr<ProcessGroup> (*open)(const GroupOptions& options, uintptr_t communicator);
};
inline constexpr int kGroupModuleVersion = 7;

}  // namespace loomix::comm
