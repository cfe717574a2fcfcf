// SPDX-License-Identifier: Apache-2.0
// Ranks that mpirun started. Posts have a communicator of their own, bodies another one, where a body's number is its tag: MPI keeps
// the order of messages with one tag, so numbers may begin anew after as many as there are tags. MPI tells nobody when something
// happens, so the thread looks again and again, ever more seldom.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <mutex>
#include <numeric>
#include <type_traits>

#include "base/error.h"
#include "comm/group/node.h"
#include "comm/mpi/shared_windows.h"

namespace loomix::comm {
namespace {

constexpr auto kLastWords = std::chrono::milliseconds(1500);  // in which other ranks hear why
constexpr auto kMostWait = std::chrono::microseconds(1000);
constexpr auto kMostIdle = std::chrono::microseconds(20'000);
constexpr auto kLeastWait = std::chrono::microseconds(50);
constexpr int kPostTag = 0, kWindowTag = 1;

void check(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw NetworkError(
      fmt::format("[comm] MPI failed in {}: {}.", what, std::string(text, static_cast<size_t>(length))));
}

class MpiLinks final : public GroupLinks {
 public:
  explicit MpiLinks(const GroupOptions& options) : most_at_once_(options.mpi_message_bytes) {
    for (MPI_Comm* one : {&posts_, &bodies_}) {
      check(MPI_Comm_dup(MPI_COMM_WORLD, one), "MPI_Comm_dup");
      MPI_Comm_set_errhandler(*one, MPI_ERRORS_RETURN);
    }
    MPI_Comm_rank(posts_, &rank_);
    MPI_Comm_size(posts_, &size_);
    void* most = nullptr;
    int there = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &there);
    windows_ = std::make_unique<SharedWindows>(posts_, kWindowTag, options.mpi_shared_windows);
    if (there) tags_ = std::min<uint64_t>(static_cast<uint64_t>(*static_cast<int*>(most)), 1u << 30);
  }
  ~MpiLinks() override {  // last words may be on their way
    const auto until = GroupClock::now() + kLastWords;
    while (!requests_.empty() && GroupClock::now() < until) test();
    windows_.reset();
  }
  std::string kind() const override { return "mpi"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  void post(int to, std::string message) override {
    const auto kept = std::make_shared<std::string>(std::move(message));
    MPI_Request request;
    check(MPI_Isend(kept->data(), static_cast<int>(kept->size()), MPI_CHAR, to, kPostTag, posts_, &request),
          "MPI_Isend");
    add(request, [kept] {});
    windows_->ring(to);
  }
  void send(int to, uint64_t number, std::span<const std::byte> body, Finished finished) override {
    if (by_window(to, body.size())) return windows_->send(to, number, body, std::move(finished));
    move(body.size(), std::move(finished), [&](size_t at, int bytes, MPI_Request* request) {
      return MPI_Isend(body.data() + at, bytes, MPI_BYTE, to, tag(number), bodies_, request);
    });
  }
  void receive(int from, uint64_t number, std::span<std::byte> place, Finished finished) override {
    if (by_window(from, place.size())) return windows_->receive(from, number, place, std::move(finished));
    move(place.size(), std::move(finished), [&](size_t at, int bytes, MPI_Request* request) {
      return MPI_Irecv(place.data() + at, bytes, MPI_BYTE, from, tag(number), bodies_, request);
    });
  }
  bool takes_parts(int rank) const override { return windows_->reaches(rank); }
  void send_parts(int to, uint64_t number, PartsRef parts, Finished finished) override {
    windows_->send_parts(to, number, std::move(parts), std::move(finished));
  }
  void receive_parts(int from, uint64_t number, PartsRef parts, Finished finished) override {
    windows_->receive_parts(from, number, std::move(parts), std::move(finished));
  }

  bool poll(LinkEvents& events) override {
    bool happened = windows_->poll();
    for (int there = 1; there != 0;) {
      MPI_Message message;
      MPI_Status status;
      check(MPI_Improbe(MPI_ANY_SOURCE, kPostTag, posts_, &there, &message, &status), "MPI_Improbe");
      if (there == 0) break;
      int bytes = 0;
      MPI_Get_count(&status, MPI_CHAR, &bytes);
      std::string post(static_cast<size_t>(bytes), '\0');
      check(MPI_Mrecv(post.data(), bytes, MPI_CHAR, &message, MPI_STATUS_IGNORE), "MPI_Mrecv");
      events.on_post(status.MPI_SOURCE, std::move(post));
      happened = true;
    }
    if (!requests_.empty()) happened = test() || happened;
    if (happened) nap_ = kLeastWait;
    return happened;
  }
  bool busy() const override { return moving_ > 0; }
  void wait(std::chrono::microseconds at_most, bool awaited) override {
    at_most = std::min(at_most, nap_);
    if (windows_->has_bell()) {
      if (!woken_.exchange(false)) windows_->wait(at_most);
    } else {
      std::unique_lock lock(mutex_);
      if (!woken_) changed_.wait_for(lock, at_most, [this] { return woken_.load(); });
      woken_ = false;
    }
    nap_ = busy() ? kLeastWait : std::min(nap_ + nap_ / 4, awaited ? kMostWait : kMostIdle);
  }
  void wake() noexcept override {
    if (windows_->has_bell()) {
      woken_ = true;
      windows_->ring(rank_);
      return;
    }
    const std::lock_guard lock(mutex_);
    woken_ = true;
    changed_.notify_one();
  }
  void abort(const std::string& why) override {
    fmt::print(stderr, "{} Rank {} ends the job.\n", why, rank_);  // at exit: logs may be gone
    std::fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }

 private:
  bool by_window(int rank, size_t bytes) const {
    return bytes >= SharedWindows::kLeastBody && windows_->reaches(rank);
  }
  int tag(uint64_t number) const { return static_cast<int>(number % tags_); }

  void add(MPI_Request request, Finished finished) {
    requests_.push_back(request);
    finished_.push_back(std::move(finished));
  }

  // Piece by piece: MPI counts by int.
  template <class Start>
  void move(size_t bytes, Finished finished, Start start) {
    ++moving_;
    const auto ending = std::make_shared<Finished>(std::move(finished));
    const auto left = std::make_shared<size_t>((bytes + most_at_once_ - 1) / most_at_once_);
    for (size_t at = 0; at < bytes; at += most_at_once_) {
      MPI_Request request;
      check(start(at, static_cast<int>(std::min(most_at_once_, bytes - at)), &request),
            "MPI_Isend or MPI_Irecv");
      add(request, [this, ending, left] {
        if (--*left > 0) return;
        --moving_;
        (*ending)();
      });
    }
  }

  bool test() {
    const auto count = static_cast<int>(requests_.size());
    done_.resize(requests_.size());
    int ended = 0;
    check(MPI_Testsome(count, requests_.data(), &ended, done_.data(), MPI_STATUSES_IGNORE), "MPI_Testsome");
    if (ended <= 0) return false;  // MPI_UNDEFINED, too
    std::vector<Finished> over;
    for (int i = 0; i < ended; ++i)
      over.push_back(std::move(finished_[static_cast<size_t>(done_[static_cast<size_t>(i)])]));
    size_t kept = 0;
    for (size_t i = 0; i < requests_.size(); ++i) {
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      requests_[kept] = requests_[i];
      if (kept != i) finished_[kept] = std::move(finished_[i]);
      ++kept;
    }
    requests_.resize(kept);
    finished_.resize(kept);
    for (Finished& one : over) one();
    return true;
  }

  const size_t most_at_once_;  // bytes
  std::unique_ptr<SharedWindows> windows_;
  MPI_Comm posts_ = MPI_COMM_NULL, bodies_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
  uint64_t tags_ = 32767;
  std::vector<MPI_Request> requests_;
  std::vector<Finished> finished_;
  std::vector<int> done_;
  int moving_ = 0;
  std::chrono::microseconds nap_ = kLeastWait;
  std::atomic<bool> woken_{false};
  std::mutex mutex_;  // without a bell: guards changes of that
  std::condition_variable changed_;
};

// A handle is a pointer or a number, by the make of MPI.
template <class Handle>
Handle to_handle(uintptr_t given) {
  if constexpr (std::is_pointer_v<Handle>) return reinterpret_cast<Handle>(given);
  else return static_cast<Handle>(given);
}

// The ranks of a communicator, as all processes of the job count them.
std::vector<int> ranks_of(uintptr_t given) {
  const auto communicator = to_handle<MPI_Comm>(given);
  LOOMIX_CHECK(communicator != MPI_COMM_NULL, ValueError,
               "[comm] the communicator is MPI_COMM_NULL; expected one that this process is in.");
  int between = 0, size = 0;
  check(MPI_Comm_test_inter(communicator, &between), "MPI_Comm_test_inter");
  LOOMIX_CHECK(between == 0, ValueError,
               "[comm] the communicator is one between two groups; expected one of one group.");
  MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
  check(MPI_Comm_group(MPI_COMM_WORLD, &all), "MPI_Comm_group");
  check(MPI_Comm_group(communicator, &some), "MPI_Comm_group");
  check(MPI_Group_size(some, &size), "MPI_Group_size");
  std::vector<int> own(static_cast<size_t>(size)), ranks(own.size());
  std::iota(own.begin(), own.end(), 0);
  check(MPI_Group_translate_ranks(some, size, own.data(), all, ranks.data()), "MPI_Group_translate_ranks");
  MPI_Group_free(&some);
  MPI_Group_free(&all);
  LOOMIX_CHECK(std::find(ranks.begin(), ranks.end(), MPI_UNDEFINED) == ranks.end(), ValueError,
               "[comm] the communicator has processes that are not in MPI_COMM_WORLD; expected those that "
               "mpirun started together.");
  return ranks;
}

// This process as a rank. At its end it waits for the others, and ends MPI if it has begun it; where something went wrong, it ends the
// job: MPI_Finalize would wait for ranks that do not come.
class Process {
 public:
  explicit Process(const GroupOptions& options) {
    int there = 0;
    MPI_Initialized(&there);
    int level = 0;
    if (there) {
      MPI_Query_thread(&level);
    } else {
      check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &level), "MPI_Init_thread");
      ours_ = true;
    }
    LOOMIX_CHECK(level == MPI_THREAD_MULTIPLE, NetworkError,
                 "[comm] this MPI was not initialised for several threads (MPI_THREAD_MULTIPLE).");
    node_ = std::make_shared<GroupNode>(std::make_unique<MpiLinks>(options));
  }
  ~Process() {
    int over = 0;
    MPI_Finalized(&over);
    if (over || getpid() != pid_) {  // somebody else's to end: nothing is told any more
      static_cast<void>(std::make_unique<std::shared_ptr<GroupNode>>(std::move(node_)).release());
      return;
    }
    node_->end_process(kLastWords);
    node_.reset();
    if (ours_) MPI_Finalize();
  }
  std::unique_ptr<ProcessGroup> group(const GroupOptions& options, uintptr_t communicator) {
    return node_->world(options, communicator == 0 ? std::vector<int>() : ranks_of(communicator));
  }

 private:
  const pid_t pid_ = getpid();
  bool ours_ = false;
  std::shared_ptr<GroupNode> node_;
};

}  // namespace
}  // namespace loomix::comm

extern "C" [[gnu::visibility("default")]] const loomix::comm::MpiModule loomix_mpi_module;
const loomix::comm::MpiModule loomix_mpi_module = {
    loomix::comm::kGroupModuleVersion,
    [](const loomix::comm::GroupOptions& options,
       uintptr_t communicator) -> std::unique_ptr<loomix::comm::ProcessGroup> {
      static loomix::comm::Process process(options);
      return process.group(options, communicator);
    },
};
