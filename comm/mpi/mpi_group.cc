// SPDX-License-Identifier: Apache-2.0
#include <mpi.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <mutex>

#include "base/error.h"
#include "comm/reduction.h"

namespace loomix::comm {
namespace {

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw NetworkError(
      fmt::format("[comm] MPI failed in {}: {}.", what, std::string(text, static_cast<size_t>(length))));
}

// Initialises MPI if the program did not, and ends it then.
class Runtime {
 public:
  Runtime() {
    int there = 0;
    MPI_Initialized(&there);
    if (there) return;
    int level = 0;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
    LOOMIX_CHECK(level == MPI_THREAD_MULTIPLE, NetworkError,
                 "[comm] this MPI does not support several threads.");
    ours_ = true;
  }
  ~Runtime() {
    int over = 0;
    MPI_Finalized(&over);
    if (ours_ && !over) MPI_Finalize();
  }

 private:
  bool ours_ = false;
};

template <class T, Reduction reduction>
void reduce_halves(void* in, void* in_out, int* count, MPI_Datatype*) {
  reduce_into(static_cast<T*>(in_out), static_cast<const T*>(in), static_cast<size_t>(*count), reduction);
}

// MPI has no 16-bit floats.
template <class T>
MPI_Op half_op(Reduction reduction) {
  static const auto ops = [] {
    std::array<MPI_Op, 4> made;
    MPI_Op_create(reduce_halves<T, Reduction::sum>, 1, &made[0]);
    MPI_Op_create(reduce_halves<T, Reduction::product>, 1, &made[1]);
    MPI_Op_create(reduce_halves<T, Reduction::minimum>, 1, &made[2]);
    MPI_Op_create(reduce_halves<T, Reduction::maximum>, 1, &made[3]);
    return made;
  }();
  return ops[static_cast<size_t>(reduction)];
}

struct TypeAndOp {
  MPI_Datatype type;
  MPI_Op op;
};
TypeAndOp mpi_of(DType dtype, Reduction reduction, const char* who) {
  const MPI_Op plain[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX};
  const MPI_Op op = plain[static_cast<size_t>(reduction)];
  switch (dtype) {
    case DType::float32: return {MPI_FLOAT, op};
    case DType::float64: return {MPI_DOUBLE, op};
    case DType::uint8: return {MPI_UINT8_T, op};
    case DType::int8: return {MPI_INT8_T, op};
    case DType::int32: return {MPI_INT32_T, op};
    case DType::int64: return {MPI_INT64_T, op};
    case DType::float16: return {MPI_UINT16_T, half_op<float16>(reduction)};
    case DType::bfloat16: return {MPI_UINT16_T, half_op<bfloat16>(reduction)};
    default:
      throw TypeError(fmt::format("[{}] {} cannot be reduced; expected a floating or integer type.", who,
                                  name_of(dtype)));
  }
}

int count_of(size_t count, const char* who) {
  LOOMIX_CHECK(count <= INT_MAX, ValueError, "[{}] {} elements at a time; MPI takes at most {}.", who, count,
               INT_MAX);
  return static_cast<int>(count);
}

class MpiGroup final : public ProcessGroup {
 public:
  explicit MpiGroup(GroupDeadline deadline) : deadline_(deadline) {
    check(MPI_Comm_dup(MPI_COMM_WORLD, &ranks_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(ranks_, &rank_);
    MPI_Comm_size(ranks_, &size_);
  }
  ~MpiGroup() override {
    int over = 0;
    MPI_Finalized(&over);
    if (!over && !broken_) MPI_Comm_free(&ranks_);
  }
  std::string kind() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction, void*) override {
    const TypeAndOp of = mpi_of(dtype, reduction, "all_reduce");
    run("all_reduce", [&](MPI_Request* request) {
      return MPI_Iallreduce(in == out ? MPI_IN_PLACE : in, out, count_of(count, "all_reduce"), of.type, of.op,
                            ranks_, request);
    });
  }
  void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                      void*) override {
    const TypeAndOp of = mpi_of(dtype, reduction, "reduce_scatter");
    run("reduce_scatter", [&](MPI_Request* request) {
      return MPI_Ireduce_scatter_block(in, out, count_of(count, "reduce_scatter"), of.type, of.op, ranks_,
                                       request);
    });
  }
  void broadcast(void* data, size_t bytes, int root, void*) override {
    check_rank(root, "broadcast");
    run("broadcast", [&](MPI_Request* request) {
      return MPI_Ibcast(data, count_of(bytes, "broadcast"), MPI_BYTE, root, ranks_, request);
    });
  }
  void all_gather(const void* in, void* out, size_t bytes, void*) override {
    const int count = count_of(bytes, "all_gather");
    run("all_gather", [&](MPI_Request* request) {
      return MPI_Iallgather(in, count, MPI_BYTE, out, count, MPI_BYTE, ranks_, request);
    });
  }
  void send(const void* data, size_t bytes, int to, void*) override {
    check_rank(to, "send");
    run("send", [&](MPI_Request* request) {
      return MPI_Isend(data, count_of(bytes, "send"), MPI_BYTE, to, kTag, ranks_, request);
    });
  }
  void receive(void* data, size_t bytes, int from, void*) override {
    check_rank(from, "receive");
    MPI_Status status;
    run(
        "receive",
        [&](MPI_Request* request) {
          return MPI_Irecv(data, count_of(bytes, "receive"), MPI_BYTE, from, kTag, ranks_, request);
        },
        &status);
    int came = 0;
    MPI_Get_count(&status, MPI_BYTE, &came);
    LOOMIX_CHECK(static_cast<size_t>(came) == bytes, ValueError,
                 "[comm] rank {} sent {} bytes; rank {} expects {}.", from, came, rank_, bytes);
  }
  void barrier(void*) override {
    run("barrier", [&](MPI_Request* request) { return MPI_Ibarrier(ranks_, request); });
  }

 private:
  static constexpr int kTag = 77;

  void check_rank(int rank, const char* what) const {
    LOOMIX_CHECK(rank >= 0 && rank < size_, ValueError,
                 "[comm] {}: rank {} is out of range; expected 0 to {}.", what, rank, size_ - 1);
  }
  // Started without blocking and asked for, as MPI's own waits have no deadline.
  template <class Start>
  void run(const char* what, Start start, MPI_Status* status = MPI_STATUS_IGNORE) {
    LOOMIX_CHECK(!broken_, NetworkError, "[comm] rank {} gave up on this group before.", rank_);
    MPI_Request request;
    check(start(&request), what);
    const auto until = std::chrono::steady_clock::now() + deadline_;
    for (int asked = 0, done = 0;; ++asked) {
      check(MPI_Test(&request, &done, status), what);
      if (done) return;
      if (asked < 2000) continue;
      usleep(asked < 20000 ? 5 : 200);
      if (asked % 64 != 0 || std::chrono::steady_clock::now() < until) continue;
      broken_ = true;
      throw NetworkError(fmt::format("[comm] rank {} of {} waited {:.1f} s in {}; other ranks did not come.",
                                     rank_, size_, std::chrono::duration<double>(deadline_).count(), what));
    }
  }

  const GroupDeadline deadline_;
  MPI_Comm ranks_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  bool broken_ = false;
};

}  // namespace
}  // namespace loomix::comm

extern "C" [[gnu::visibility("default")]] const loomix::comm::MpiModule loomix_mpi_module;
const loomix::comm::MpiModule loomix_mpi_module = {
    loomix::comm::kGroupModuleVersion,
    [](loomix::comm::GroupDeadline deadline) -> std::unique_ptr<loomix::comm::ProcessGroup> {
      static loomix::comm::Runtime runtime;
      return std::make_unique<loomix::comm::MpiGroup>(deadline);
    },
};
