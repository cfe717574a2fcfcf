// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"

namespace loomix::comm {

enum class Reduction : uint8_t { sum, product, minimum, maximum };
const char* name_of(Reduction reduction);

// Ranks that run collective operations: every rank calls the same ones with the same sizes in the same order (from engine tasks:
// with one `use` of a Var of the group's). One call at a time per group. Host groups block until the memory may be used
// again, and throw NetworkError at their deadline, after which the group is of no more use. Groups of devices put the work on
// `stream` and return. Sums of 16-bit floats are rounded once per addition.
class ProcessGroup {
 public:
  virtual ~ProcessGroup() = default;
  virtual std::string kind() const = 0;  // "mpi", "nccl", "inproc"
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // `in` and `out` may be the same.
  virtual void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                          void* stream = nullptr) = 0;
  virtual void broadcast(void* data, size_t bytes, int root, void* stream = nullptr) = 0;
  // `out` has `bytes` from each rank, in order.
  virtual void all_gather(const void* in, void* out, size_t bytes, void* stream = nullptr) = 0;
  // `in` has `count` elements for each rank; each gets the reduction of its own.
  virtual void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                              void* stream = nullptr) = 0;
  // Messages of one pair of ranks arrive in order.
  virtual void send(const void* data, size_t bytes, int to, void* stream = nullptr) = 0;
  virtual void receive(void* data, size_t bytes, int from, void* stream = nullptr) = 0;
  virtual void barrier(void* stream = nullptr) = 0;
};

using GroupDeadline = std::chrono::milliseconds;

// One group per rank, for as many threads of this process. Reductions are done in the order of ranks: the same bits on every rank,
// run after run.
std::vector<std::unique_ptr<ProcessGroup>> make_inproc_groups(
    int size, GroupDeadline deadline = std::chrono::minutes(1));

// All processes that mpirun started. A module loaded at the first call; throws NetworkError where it is not installed. MPI is
// initialised if nobody did that before, and then ended with the process.
std::unique_ptr<ProcessGroup> make_mpi_group(GroupDeadline deadline = std::chrono::minutes(5));
bool has_mpi_module() noexcept;  // loads it

// GPUs, one per rank, in the CUDA module. Rank 0 makes the id, and all ranks get it.
std::string make_nccl_id();
std::unique_ptr<ProcessGroup> make_nccl_group(const std::string& id, int rank, int size, int device);

// What the modules export as `loomix_mpi_module` and `loomix_nccl_module`.
struct MpiModule {
  int interface_version;
  std::unique_ptr<ProcessGroup> (*open)(GroupDeadline deadline);
};
struct NcclModule {
  int interface_version;
  std::string (*make_id)();
  std::unique_ptr<ProcessGroup> (*open)(const std::string& id, int rank, int size, int device);
};
inline constexpr int kGroupModuleVersion = 1;

}  // namespace loomix::comm
