// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/device.h"
#include "base/dtype.h"
#include "comm/process_group.h"

namespace loomix::comm {

// Devices that run collective operations: all call the same ones with the same sizes in the same order (from engine tasks: with one
// `use` of a Var of the group's). Calls put the work on `stream` and return; work that does not end within the deadline after its
// start is cut off, which verify() tells.
class DeviceGroup {
 public:
  virtual ~DeviceGroup() = default;
  virtual std::string kind() const = 0;  // "nccl"
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
  // Throws NetworkError if work was cut off. What finished work wrote may be used when this, called later, throws nothing.
  virtual void verify() const = 0;
};

using GroupDeadline = std::chrono::milliseconds;

// GPUs, one per rank, by NCCL in the CUDA module; this process's have the ranks from `first` on. All `size` ranks get the id
// that one of them made, and connect within the deadline.
std::string make_nccl_id();
std::vector<std::unique_ptr<DeviceGroup>> make_nccl_groups(const std::string& id, int first, int size,
                                                           std::span<const Device> devices,
                                                           GroupDeadline deadline = std::chrono::minutes(1));
bool has_nccl_module() noexcept;  // loads it
void require_nccl_module();       // throws NetworkError with the reason

// What the module exports as `loomix_nccl_module`.
struct NcclModule {
  int interface_version;
  std::string (*make_id)();
  std::vector<std::unique_ptr<DeviceGroup>> (*open)(const std::string& id, int first, int size,
                                                    std::span<const Device> devices, GroupDeadline deadline);
};

}  // namespace loomix::comm
