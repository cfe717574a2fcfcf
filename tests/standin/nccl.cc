// SPDX-License-Identifier: Apache-2.0
//
// NCCL on the host, for the streams of the stand-in of CUDA's runtime. Ranks are threads or processes of one machine that meet in a
// piece of shared memory, named in the id. As NCCL's communicators that do not block, it says at first that a call is in progress.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include <cuda_runtime_api.h>
#include <nccl.h>

#include "comm/reduction.h"
#include "tests/standin/stream.h"

namespace {

using loomix::comm::Reduction;
using loomix::standin::put_on;

constexpr int kRanks = 8;
constexpr size_t kSlot = size_t{64} << 10;

struct Meeting {
  std::atomic<int> joined, arrived;
  std::atomic<uint32_t> round;
  std::byte slots[kRanks][kSlot];
  std::atomic<uint32_t> full[kRanks][kRanks];  // a letter lies there
  std::byte letters[kRanks][kRanks][kSlot];
};

struct Rank {
  Meeting* meeting = nullptr;
  std::string name;
  int rank = 0, size = 0;
  std::atomic<bool> aborted{false};
  std::atomic<bool> fresh{false};  // the last call is "in progress" until it is asked for

  ~Rank() {
    munmap(meeting, sizeof(Meeting));
    shm_unlink(name.c_str());  // unless all have come and one was faster
  }
  // False when it was aborted meanwhile.
  bool wait_until(const std::function<bool()>& condition) const {
    for (int turn = 0; !condition(); ++turn) {
      if (aborted) return false;
      if (turn > 100) std::this_thread::sleep_for(std::chrono::microseconds(20));
      else std::this_thread::yield();
    }
    return true;
  }
  bool meet() {
    const uint32_t round = meeting->round;
    if (meeting->arrived.fetch_add(1) + 1 == size) {
      meeting->arrived = 0;
      ++meeting->round;
      return true;
    }
    return wait_until([&] { return meeting->round != round; });
  }
  // Calls `use` for pieces of the ranks' inputs that are all in the slots, with the place and size of the piece.
  void exchange(const void* in, size_t bytes, const std::function<void(size_t at, size_t now)>& use) {
    size_t at = 0;
    do {
      const size_t now = std::min(kSlot, bytes - at);
      if (now > 0) std::memcpy(meeting->slots[rank], static_cast<const std::byte*>(in) + at, now);
      if (!meet()) return;
      use(at, now);
      if (!meet()) return;
      at += now;
    } while (at < bytes);
  }
};

}  // namespace

// A communicator may be aborted while its work is on streams, so the work holds what is behind it.
struct ncclComm {
  std::shared_ptr<Rank> rank;
};

namespace {

std::atomic<long> calls{0};

ncclResult_t put(ncclComm_t handle, cudaStream_t stream, std::function<void(Rank&)> work) {
  ++calls;
  put_on(stream, [rank = handle->rank, work = std::move(work)] { work(*rank); });
  handle->rank->fresh = true;
  return ncclInProgress;
}

template <class Fn>
void with_type(ncclDataType_t type, Fn fn) {
  switch (type) {
    case ncclInt8: return fn(int8_t{});
    case ncclUint8: return fn(uint8_t{});
    case ncclInt32: return fn(int32_t{});
    case ncclInt64: return fn(int64_t{});
    case ncclFloat16: return fn(loomix::float16{});
    case ncclBfloat16: return fn(loomix::bfloat16{});
    case ncclFloat32: return fn(float{});
    case ncclFloat64: return fn(double{});
    default: std::abort();
  }
}

Reduction reduction_of(ncclRedOp_t op) {
  switch (op) {
    case ncclSum: return Reduction::sum;
    case ncclProd: return Reduction::product;
    case ncclMin: return Reduction::minimum;
    case ncclMax: return Reduction::maximum;
    default: std::abort();
  }
}

// The reduction of what is in the slots, to `out`.
template <class T>
void reduce_slots(const Rank& comm, void* out, size_t bytes, ncclRedOp_t op) {
  std::memcpy(out, comm.meeting->slots[0], bytes);
  T* const sum = static_cast<T*>(out);
  for (int r = 1; r < comm.size; ++r) {
    loomix::comm::reduce(sum, sum, reinterpret_cast<const T*>(comm.meeting->slots[r]), bytes / sizeof(T),
                         reduction_of(op));
  }
}

}  // namespace

extern "C" {

// What all ranks of this process put on streams.
long loomix_standin_nccl_calls() { return calls.load(); }

const char* ncclGetErrorString(ncclResult_t) { return "an error of the stand-in"; }

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::atomic<int> next{0};
  const std::string name = "/nccl_standin_" + std::to_string(getpid()) + "_" + std::to_string(next++);
  std::memset(id->internal, 0, sizeof(id->internal));
  std::memcpy(id->internal, name.c_str(), name.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int size, ncclUniqueId id, int rank, ncclConfig_t*) {
  if (size > kRanks || rank >= size) return ncclInvalidArgument;
  const int file = shm_open(id.internal, O_CREAT | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(Meeting)) != 0) return ncclSystemError;
  void* const memory = mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (memory == MAP_FAILED) return ncclSystemError;
  auto comm = std::make_shared<Rank>();
  comm->meeting = static_cast<Meeting*>(memory);
  comm->name = id.internal;
  comm->rank = rank;
  comm->size = size;
  ++comm->meeting->joined;
  *handle = new ncclComm{std::move(comm)};
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* state) {
  Rank& comm = *handle->rank;
  *state = comm.meeting->joined < comm.size || comm.fresh.exchange(false) ? ncclInProgress : ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }
ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  delete handle;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t handle) {
  handle->rank->aborted = true;
  return ncclCommDestroy(handle);
}

ncclResult_t ncclAllReduce(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t handle, cudaStream_t stream) {
  return put(handle, stream, [=](Rank& comm) {
    with_type(type, [&]<class T>(T) {
      comm.exchange(in, count * sizeof(T), [&](size_t at, size_t now) {
        reduce_slots<T>(comm, static_cast<std::byte*>(out) + at, now, op);
      });
    });
  });
}
ncclResult_t ncclReduceScatter(const void* in, void* out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t handle, cudaStream_t stream) {
  return put(handle, stream, [=](Rank& comm) {
    with_type(type, [&]<class T>(T) {
      const size_t bytes = count * sizeof(T);
      for (int owner = 0; owner < comm.size; ++owner) {
        const auto* const part = static_cast<const std::byte*>(in) + static_cast<size_t>(owner) * bytes;
        comm.exchange(part, bytes, [&](size_t at, size_t now) {
          if (owner == comm.rank) reduce_slots<T>(comm, static_cast<std::byte*>(out) + at, now, op);
        });
      }
    });
  });
}
ncclResult_t ncclBroadcast(const void* in, void* out, size_t count, ncclDataType_t, int root,
                           ncclComm_t handle, cudaStream_t stream) {
  return put(handle, stream, [=](Rank& comm) {
    comm.exchange(in, count, [&](size_t at, size_t now) {
      std::memcpy(static_cast<std::byte*>(out) + at, comm.meeting->slots[root], now);
    });
  });
}
ncclResult_t ncclAllGather(const void* in, void* out, size_t count, ncclDataType_t, ncclComm_t handle,
                           cudaStream_t stream) {
  return put(handle, stream, [=](Rank& comm) {
    comm.exchange(in, count, [&](size_t at, size_t now) {
      for (int r = 0; r < comm.size; ++r)
        std::memcpy(static_cast<std::byte*>(out) + static_cast<size_t>(r) * count + at,
                    comm.meeting->slots[r], now);
    });
  });
}
ncclResult_t ncclSend(const void* data, size_t count, ncclDataType_t, int to, ncclComm_t handle,
                      cudaStream_t stream) {
  if (count > kSlot) return ncclInvalidArgument;
  return put(handle, stream, [=](Rank& comm) {
    std::atomic<uint32_t>& full = comm.meeting->full[comm.rank][to];
    if (!comm.wait_until([&] { return full == 0; })) return;
    std::memcpy(comm.meeting->letters[comm.rank][to], data, count);
    full = 1;
  });
}
ncclResult_t ncclRecv(void* data, size_t count, ncclDataType_t, int from, ncclComm_t handle,
                      cudaStream_t stream) {
  if (count > kSlot) return ncclInvalidArgument;
  return put(handle, stream, [=](Rank& comm) {
    std::atomic<uint32_t>& full = comm.meeting->full[from][comm.rank];
    if (!comm.wait_until([&] { return full == 1; })) return;
    std::memcpy(data, comm.meeting->letters[from][comm.rank], count);
    full = 0;
  });
}

}  // extern "C"
