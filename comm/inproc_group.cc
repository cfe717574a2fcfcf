// SPDX-License-Identifier: Apache-2.0
// Ranks meet twice in a collective: after all have told their memory, and after all have read what they need. A rank writes its
// output after the second time, so that inputs may be overwritten.
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>

#include "base/error.h"
#include "comm/reduction.h"

namespace loomix::comm {
namespace {

struct Call {
  const char* name = nullptr;
  size_t count = 0;
  DType dtype = DType::uint8;
  Reduction reduction = Reduction::sum;
  int root = -1;
  const void* in = nullptr;

  bool same_as(const Call& other) const {
    return std::strcmp(name, other.name) == 0 && count == other.count && dtype == other.dtype &&
           reduction == other.reduction && root == other.root;
  }
  std::string to_string() const {
    return fmt::format("{} of {} {}", name, count,
                       root < 0 ? name_of(dtype) : fmt::format("bytes from rank {}", root));
  }
};

struct Shared {
  Shared(int ranks, GroupDeadline limit) : size(ranks), deadline(limit), calls(static_cast<size_t>(ranks)) {}
  const int size;
  const GroupDeadline deadline;
  std::mutex mutex;  // guards the rest
  std::condition_variable changed;
  std::vector<Call> calls;
  int arrived = 0;
  uint64_t round = 0;
  std::string broken;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> letters;

  void check(std::unique_lock<std::mutex>&) const {
    if (!broken.empty()) throw NetworkError(broken);
  }
  [[noreturn]] void break_up(std::string why) {
    broken = std::move(why);
    changed.notify_all();
    throw NetworkError(broken);
  }
  template <class Condition>
  void wait(std::unique_lock<std::mutex>& lock, int rank, const char* what, Condition condition) {
    const bool done = changed.wait_for(lock, deadline, [&] { return !broken.empty() || condition(); });
    check(lock);
    if (!done) {
      break_up(fmt::format("[comm] rank {} of {} waited {:.1f} s in {}; other ranks did not come.", rank,
                           size, std::chrono::duration<double>(deadline).count(), what));
    }
  }
};

class InprocGroup final : public ProcessGroup {
 public:
  InprocGroup(std::shared_ptr<Shared> shared, int rank) : shared_(std::move(shared)), rank_(rank) {}
  std::string kind() const override { return "inproc"; }
  int rank() const override { return rank_; }
  int size() const override { return shared_->size; }

  void all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction, void*) override {
    reduce({"all_reduce", count, dtype, reduction, -1, in}, 0, count, out);
  }
  void reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                      void*) override {
    reduce({"reduce_scatter", count, dtype, reduction, -1, in}, static_cast<size_t>(rank_) * count, count,
           out);
  }
  void broadcast(void* data, size_t bytes, int root, void*) override {
    check_rank(root, "broadcast");
    meet({"broadcast", bytes, DType::uint8, Reduction::sum, root, data});
    if (rank_ != root && bytes > 0) std::memcpy(data, shared_->calls[static_cast<size_t>(root)].in, bytes);
    meet_again("broadcast");
  }
  void all_gather(const void* in, void* out, size_t bytes, void*) override {
    meet({"all_gather", bytes, DType::uint8, Reduction::sum, -1, in});
    std::vector<std::byte> result(bytes * static_cast<size_t>(size()));
    for (size_t r = 0; bytes > 0 && r < shared_->calls.size(); ++r) {
      std::memcpy(result.data() + r * bytes, shared_->calls[r].in, bytes);
    }
    meet_again("all_gather");
    if (!result.empty()) std::memcpy(out, result.data(), result.size());
  }
  void send(const void* data, size_t bytes, int to, void*) override {
    check_rank(to, "send");
    const auto* first = static_cast<const std::byte*>(data);
    std::unique_lock lock(shared_->mutex);
    shared_->check(lock);
    shared_->letters[{rank_, to}].emplace_back(first, first + bytes);
    shared_->changed.notify_all();
  }
  void receive(void* data, size_t bytes, int from, void*) override {
    check_rank(from, "receive");
    std::unique_lock lock(shared_->mutex);
    auto& letters = shared_->letters[{from, rank_}];
    shared_->wait(lock, rank_, "receive", [&] { return !letters.empty(); });
    LOOMIX_CHECK(letters.front().size() == bytes, ValueError,
                 "[comm] rank {} sent {} bytes; rank {} expects {}.", from, letters.front().size(), rank_,
                 bytes);
    if (bytes > 0) std::memcpy(data, letters.front().data(), bytes);
    letters.pop_front();
  }
  void barrier(void*) override {
    meet({"barrier"});
    meet_again("barrier");
  }

 private:
  void check_rank(int rank, const char* what) const {
    LOOMIX_CHECK(rank >= 0 && rank < size(), ValueError,
                 "[comm] {}: rank {} is out of range; expected 0 to {}.", what, rank, size() - 1);
  }
  // Elements [begin, begin + count) of all inputs, in the order of ranks.
  void reduce(const Call& call, size_t begin, size_t count, void* out) {
    dispatch_numeric(call.dtype, call.name, [&]<class T>(Type<T>) {
      meet(call);
      const auto input = [&](size_t rank) { return static_cast<const T*>(shared_->calls[rank].in) + begin; };
      std::vector<T> result(input(0), input(0) + count);
      for (size_t r = 1; r < shared_->calls.size(); ++r)
        reduce_into(result.data(), input(r), count, call.reduction);
      meet_again(call.name);
      std::copy(result.begin(), result.end(), static_cast<T*>(out));
    });
  }
  void meet(const Call& call) {
    std::unique_lock lock(shared_->mutex);
    shared_->check(lock);
    shared_->calls[static_cast<size_t>(rank_)] = call;
    pass(lock, call.name);
    for (size_t r = 0; r < shared_->calls.size(); ++r) {
      if (!call.same_as(shared_->calls[r])) {
        shared_->break_up(
            fmt::format("[comm] rank {} calls {}, and rank {} calls {}; all ranks must call the same.", rank_,
                        call.to_string(), r, shared_->calls[r].to_string()));
      }
    }
  }
  void meet_again(const char* what) {
    std::unique_lock lock(shared_->mutex);
    shared_->check(lock);
    pass(lock, what);
  }
  void pass(std::unique_lock<std::mutex>& lock, const char* what) {
    const uint64_t round = shared_->round;
    if (++shared_->arrived == shared_->size) {
      shared_->arrived = 0;
      ++shared_->round;
      shared_->changed.notify_all();
      return;
    }
    shared_->wait(lock, rank_, what, [&] { return shared_->round != round; });
  }

  const std::shared_ptr<Shared> shared_;
  const int rank_;
};

}  // namespace

std::vector<std::unique_ptr<ProcessGroup>> make_inproc_groups(int size, GroupDeadline deadline) {
  LOOMIX_CHECK(size > 0, ValueError, "[comm] a group of {} ranks; expected 1 or more.", size);
  const auto shared = std::make_shared<Shared>(size, deadline);
  std::vector<std::unique_ptr<ProcessGroup>> groups;
  for (int rank = 0; rank < size; ++rank) groups.push_back(std::make_unique<InprocGroup>(shared, rank));
  return groups;
}

}  // namespace loomix::comm
