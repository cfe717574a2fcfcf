// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime.h>
#include <nccl.h>

#include <cstring>

#include "base/error.h"
#include "comm/process_group.h"

namespace loomix::comm {
namespace {

void check(ncclResult_t code, const char* what) {
  LOOMIX_CHECK(code == ncclSuccess, NetworkError, "[comm] NCCL failed in {}: {}.", what,
               ncclGetErrorString(code));
}
void check(cudaError_t code, const char* what) {
  LOOMIX_CHECK(code == cudaSuccess, DeviceError, "[comm] CUDA failed in {}: {}.", what,
               cudaGetErrorString(code));
}

ncclDataType_t nccl_of(DType dtype, const char* who) {
  switch (dtype) {
    case DType::float32: return ncclFloat32;
    case DType::float64: return ncclFloat64;
    case DType::float16: return ncclFloat16;
    case DType::bfloat16: return ncclBfloat16;
    case DType::uint8: return ncclUint8;
    case DType::int8: return ncclInt8;
    case DType::int32: return ncclInt32;
    case DType::int64: return ncclInt64;
    default:
      throw TypeError(fmt::format("[{}] {} cannot be reduced; expected a floating or integer type.", who,
                                  name_of(dtype)));
  }
}
ncclRedOp_t nccl_of(Reduction reduction) {
  const ncclRedOp_t all[] = {ncclSum, ncclProd, ncclMin, ncclMax};
  return all[static_cast<size_t>(reduction)];
}

class NcclGroup final : public ProcessGroup {
 public:
  NcclGroup(const std::string& id, int rank, int size, int device)
      : device_(device), rank_(rank), size_(size) {
    ncclUniqueId unique;
    LOOMIX_CHECK(id.size() == sizeof(unique), ValueError, "[comm] an id of NCCL has {} bytes; expected {}.",
                 id.size(), sizeof(unique));
    std::memcpy(&unique, id.data(), sizeof(unique));
    check(cudaSetDevice(device), "cudaSetDevice");
    check(ncclCommInitRank(&ranks_, size, unique, rank), "ncclCommInitRank");
    check(cudaMalloc(&nothing_, sizeof(float)), "cudaMalloc");
  }
  ~NcclGroup() override {
    cudaFree(nothing_);
    ncclCommDestroy(ranks_);
  }
  std::string kind() const override { return "nccl"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                  void* stream) override {
    enter();
    check(ncclAllReduce(in, out, count, nccl_of(dtype, "all_reduce"), nccl_of(reduction), ranks_, of(stream)),
          "all_reduce");
  }
  void broadcast(void* data, size_t bytes, int root, void* stream) override {
    enter();
    check(ncclBroadcast(data, data, bytes, ncclUint8, root, ranks_, of(stream)), "broadcast");
  }
  void all_gather(const void* in, void* out, size_t bytes, void* stream) override {
    enter();
    check(ncclAllGather(in, out, bytes, ncclUint8, ranks_, of(stream)), "all_gather");
  }
  void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                      void* stream) override {
    enter();
    check(ncclReduceScatter(in, out, count, nccl_of(dtype, "reduce_scatter"), nccl_of(reduction), ranks_,
                            of(stream)),
          "reduce_scatter");
  }
  void send(const void* data, size_t bytes, int to, void* stream) override {
    enter();
    check(ncclSend(data, bytes, ncclUint8, to, ranks_, of(stream)), "send");
  }
  void receive(void* data, size_t bytes, int from, void* stream) override {
    enter();
    check(ncclRecv(data, bytes, ncclUint8, from, ranks_, of(stream)), "receive");
  }
  void barrier(void* stream) override {
    enter();
    check(ncclAllReduce(nothing_, nothing_, 1, ncclFloat32, ncclSum, ranks_, of(stream)), "barrier");
  }

 private:
  static cudaStream_t of(void* stream) { return static_cast<cudaStream_t>(stream); }
  // Errors of earlier work show here.
  void enter() {
    check(cudaSetDevice(device_), "cudaSetDevice");
    ncclResult_t earlier = ncclSuccess;
    check(ncclCommGetAsyncError(ranks_, &earlier), "ncclCommGetAsyncError");
    check(earlier, "earlier work");
  }

  const int device_, rank_, size_;
  ncclComm_t ranks_ = nullptr;
  void* nothing_ = nullptr;
};

}  // namespace
}  // namespace loomix::comm

extern "C" [[gnu::visibility("default")]] const loomix::comm::NcclModule loomix_nccl_module;
const loomix::comm::NcclModule loomix_nccl_module = {
    loomix::comm::kGroupModuleVersion,
    [] {
      ncclUniqueId unique;
      loomix::comm::check(ncclGetUniqueId(&unique), "ncclGetUniqueId");
      return std::string(reinterpret_cast<const char*>(&unique), sizeof(unique));
    },
    [](const std::string& id, int rank, int size, int device) -> std::unique_ptr<loomix::comm::ProcessGroup> {
      return std::make_unique<loomix::comm::NcclGroup>(id, rank, size, device);
    },
};
