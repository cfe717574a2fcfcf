// SPDX-License-Identifier: Apache-2.0
// The calls of groups, each written once, by what GroupCall has: parts that are sent and received. Large ones are cut into segments of
// which a few are under way, so that what has come is added while more comes.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>

#include "base/error.h"
#include "comm/group/node.h"
#include "comm/reduction.h"

namespace loomix::comm {
namespace {

constexpr size_t kShareBytes = size_t{512} << 10;  // of a rank in a segment, about
constexpr size_t kSegments = 3;                    // under way

// Elements [begin, begin + count) of everything, of which each rank adds up its share.
//
//   rank 0:  a0 a1 a2        share r goes to rank r, is added there: b0 = a0 + a0' + a0'', and
//   rank 1:  a0'a1'a2'       goes from there to all:  b0 b1 b2
//   rank 2:  a0"a1"a2"
class Reduce final : public GroupCall {
 public:
  Reduce(const CallSignature& what, const void* in, void* out, ProcessGroup::Done ending)
      : GroupCall(what, std::move(ending)),
        in_(static_cast<const std::byte*>(in)),
        out_(static_cast<std::byte*>(out)),
        all_(what.kind == CallKind::all_reduce),
        item_(static_cast<size_t>(size_of(what.dtype))) {}

  void start() override {
    const auto n = static_cast<size_t>(ranks());
    step_ = std::max<size_t>(kShareBytes / item_, 1) * (all_ ? n : 1);
    if (n == 1) {
      if (in_ != out_ && signature.count > 0) std::memcpy(out_, in_, signature.count * item_);
      return;
    }
    for (size_t i = 0; i < kSegments; ++i) begin_next();
  }

 private:
  struct Segment {
    size_t number, begin, count;
    size_t left = 0;  // pieces of the own share that have not come
    size_t sent = 0;  // pieces of others' shares that are gone
    size_t open = 0;  // of all
    std::unique_ptr<std::byte[]> pieces;
  };
  using SegmentRef = std::shared_ptr<Segment>;

  size_t share_begin(const Segment& segment, int rank) const {
    const auto n = static_cast<size_t>(ranks());
    return all_ ? segment.begin + segment.count * static_cast<size_t>(rank) / n
                : static_cast<size_t>(rank) * signature.count + segment.begin;
  }
  size_t share_count(const Segment& segment, int rank) const {
    return all_ ? share_begin(segment, rank + 1) - share_begin(segment, rank) : segment.count;
  }
  std::byte* result(const Segment& segment, int rank) const {
    return out_ + (all_ ? share_begin(segment, rank) : segment.begin) * item_;
  }
  // Others' pieces of the own share, of the longest segment.
  size_t most_bytes() const {
    const size_t count = std::min(step_, signature.count), n = static_cast<size_t>(ranks());
    return (all_ ? count / n + 1 : count) * item_ * (n - 1);
  }
  bool in_place() const { return all_ && in_ == out_; }

  void begin_next() {
    if (next_ > 0 && next_ * step_ >= signature.count) return;
    const auto segment = std::make_shared<Segment>();
    segment->number = next_++;
    segment->begin = segment->number * step_;
    segment->count = std::min(step_, signature.count - segment->begin);
    const auto part = static_cast<uint32_t>(2 * segment->number);
    const size_t own = share_count(*segment, me()) * item_;
    // Of earlier ones: new memory has no pages yet.
    segment->pieces =
        spare_.empty() ? std::make_unique_for_overwrite<std::byte[]>(most_bytes()) : std::move(spare_.back());
    if (!spare_.empty()) spare_.pop_back();
    segment->left = static_cast<size_t>(ranks() - 1);
    segment->open = segment->left * (all_ ? 4 : 2);
    std::byte* to = segment->pieces.get();
    for (int rank = 0; rank < ranks(); ++rank) {
      if (rank == me()) continue;
      receive(rank, part, to, own, [this, segment] {
        if (--segment->left == 0) add(segment);
        step(segment);
      });
      to += own;
    }
    for (int i = 1; i < ranks(); ++i) {  // not all to the same at first
      const int rank = (me() + i) % ranks();
      send(rank, part, in_ + share_begin(*segment, rank) * item_, share_count(*segment, rank) * item_,
           [this, segment, rank] {
             if (in_place()) receive_sum(segment, rank);  // where that piece was
             step(segment);
           });
      if (all_ && !in_place()) receive_sum(segment, rank);
    }
  }

  void receive_sum(const SegmentRef& segment, int rank) {
    receive(rank, static_cast<uint32_t>(2 * segment->number + 1), result(*segment, rank),
            share_count(*segment, rank) * item_, [this, segment] { step(segment); });
  }

  // In the order of ranks. Where the own values are where the sum goes, it goes there when they are in it.
  void add(const SegmentRef& segment) {
    const size_t count = share_count(*segment, me());
    const std::byte* const own = in_ + share_begin(*segment, me()) * item_;
    std::byte* const to = result(*segment, me());
    const auto term = [&](int rank) {
      const int slot = rank < me() ? rank : rank - 1;
      return rank == me() ? own : segment->pieces.get() + static_cast<size_t>(slot) * count * item_;
    };
    dispatch_numeric(signature.dtype, "all_reduce", [&]<class T>(Type<T>) {
      const auto* sum = reinterpret_cast<const T*>(term(0));
      for (int rank = 1; rank < ranks(); ++rank) {
        auto* const into = reinterpret_cast<T*>(own == to && me() > rank ? segment->pieces.get() : to);
        reduce(into, sum, reinterpret_cast<const T*>(term(rank)), count, signature.reduction);
        sum = into;
      }
    });
    if (!all_) return;
    for (int i = 1; i < ranks(); ++i) {
      send((me() + i) % ranks(), static_cast<uint32_t>(2 * segment->number + 1), to, count * item_,
           [this, segment] { step(segment); });
    }
  }

  void step(const SegmentRef& segment) {
    if (--segment->open > 0) return;
    spare_.push_back(std::move(segment->pieces));
    begin_next();
  }

  const std::byte* const in_;
  std::byte* const out_;
  const bool all_;
  const size_t item_;
  size_t step_ = 0;  // elements of a segment
  size_t next_ = 0;
  std::vector<std::unique_ptr<std::byte[]>> spare_;
};

// What goes from each rank to each: places by rank.
struct Stretches {
  const std::byte* from;
  std::byte* to;
  std::vector<size_t> from_begin, from_bytes, to_begin, to_bytes;
};

class Exchange final : public GroupCall {
 public:
  Exchange(const CallSignature& what, Stretches stretches, ProcessGroup::Done ending)
      : GroupCall(what, std::move(ending)), stretches_(std::move(stretches)) {}
  void start() override {
    const Stretches& s = stretches_;
    const auto own = static_cast<size_t>(me());
    if (s.from_bytes[own] > 0 && s.from + s.from_begin[own] != s.to + s.to_begin[own])
      std::memmove(s.to + s.to_begin[own], s.from + s.from_begin[own], s.from_bytes[own]);
    for (int i = 1; i < ranks(); ++i) {
      const int to = (me() + i) % ranks(), from = (me() + ranks() - i) % ranks();
      const auto t = static_cast<size_t>(to), f = static_cast<size_t>(from);
      receive(from, 0, s.to + s.to_begin[f], s.to_bytes[f]);
      send(to, 0, s.from + s.from_begin[t], s.from_bytes[t]);
    }
  }

 private:
  const Stretches stretches_;
};

// Short ones go from the root to all. Of long ones each rank gets a share, which it passes on, so that the root's link is not the
// only one in use.
class Broadcast final : public GroupCall {
 public:
  Broadcast(const CallSignature& what, void* data, ProcessGroup::Done ending)
      : GroupCall(what, std::move(ending)), data_(static_cast<std::byte*>(data)) {}
  void start() override {
    const bool long_one = ranks() > 2 && signature.count >= kShareBytes;
    if (signature.root == me()) {
      for (int i = 1; i < ranks(); ++i) {
        const int to = (me() + i) % ranks();
        if (long_one) {
          send(to, 0, share(to), share_bytes(to));
          send(to, 1, share(me()), share_bytes(me()));
        } else {
          send(to, 0, data_, signature.count);
        }
      }
      return;
    }
    if (!long_one) return receive(signature.root, 0, data_, signature.count);
    receive(signature.root, 0, share(me()), share_bytes(me()), [this] {
      for (int i = 1; i < ranks(); ++i) {
        const int to = (me() + i) % ranks();
        if (to != signature.root) send(to, 1, share(me()), share_bytes(me()));
      }
    });
    for (int rank = 0; rank < ranks(); ++rank) {
      if (rank != me()) receive(rank, 1, share(rank), share_bytes(rank));
    }
  }

 private:
  size_t share_begin(int rank) const {
    return signature.count * static_cast<size_t>(rank) / static_cast<size_t>(ranks());
  }
  std::byte* share(int rank) const { return data_ + share_begin(rank); }
  size_t share_bytes(int rank) const { return share_begin(rank + 1) - share_begin(rank); }
  std::byte* const data_;
};

class Single final : public GroupCall {
 public:
  Single(CallKind kind, int other, void* data, size_t bytes, ProcessGroup::Done ending)
      : GroupCall({kind, DType::uint8, Reduction::sum, other, bytes}, std::move(ending)), data_(data) {}
  void start() override {
    if (signature.kind == CallKind::send) send(signature.root, 0, data_, signature.count);
    else receive(signature.root, 0, data_, signature.count);
  }

 private:
  void* const data_;
};

class SingleInParts final : public GroupCall {
 public:
  SingleInParts(CallKind kind, int other, PartsRef parts, ProcessGroup::Done ending)
      : GroupCall({kind, DType::uint8, Reduction::sum, other, parts->bytes()}, std::move(ending)),
        parts_(std::move(parts)) {}
  void start() override {
    if (signature.kind == CallKind::send) send_parts(signature.root, std::move(parts_));
    else receive_parts(signature.root, std::move(parts_));
  }

 private:
  PartsRef parts_;
};

void check_tag(int tag, const char* what) {
  LOOMIX_CHECK(tag >= 0 && tag <= ProcessGroup::kMostTag, ValueError, "[comm] {}: tag {}; expected 0 to {}.",
               what, tag, ProcessGroup::kMostTag);
}

void check_numeric(DType dtype, const char* who) {
  dispatch_numeric(dtype, who, []<class T>(Type<T>) {});
}

std::vector<size_t> begins_of(const std::vector<size_t>& sizes) {
  std::vector<size_t> begins;
  size_t at = 0;
  for (const size_t size : sizes) begins.push_back(std::exchange(at, at + size));
  return begins;
}

}  // namespace

ProcessGroup::ProcessGroup(std::shared_ptr<GroupNode> node, std::shared_ptr<GroupState> state)
    : node_(std::move(node)), state_(std::move(state)) {}
ProcessGroup::~ProcessGroup() {
  node_->core().post([core = &node_->core(), id = state_->id] { core->forget(id); });
}
std::string ProcessGroup::kind() const { return node_->core().links().kind(); }
int ProcessGroup::rank() const { return state_->me; }
int ProcessGroup::size() const { return static_cast<int>(state_->ranks.size()); }

void ProcessGroup::check_rank(int rank, const char* what) const {
  LOOMIX_CHECK(rank >= 0 && rank < size(), ValueError,
               "[comm] {}: rank {} is out of range; expected 0 to {}.", what, rank, size() - 1);
}

// Numbered and posted at once, so that a group's calls begin in the order of their numbers.
void ProcessGroup::start(std::shared_ptr<GroupCall> call, int tag) {
  const std::lock_guard lock(state_->mutex);
  call->number = tag < 0 ? ++state_->calls : GroupCall::kSingle | static_cast<uint64_t>(tag);
  node_->core().post(
      [core = &node_->core(), state = state_, call = std::move(call)] { core->begin(*state, call); });
}

void ProcessGroup::all_reduce(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                              Done done) {
  check_numeric(dtype, "all_reduce");
  start(std::make_shared<Reduce>(CallSignature{CallKind::all_reduce, dtype, reduction, -1, count}, in, out,
                                 std::move(done)));
}

void ProcessGroup::reduce_scatter(const void* in, void* out, size_t count, DType dtype, Reduction reduction,
                                  Done done) {
  check_numeric(dtype, "reduce_scatter");
  start(std::make_shared<Reduce>(CallSignature{CallKind::reduce_scatter, dtype, reduction, -1, count}, in,
                                 out, std::move(done)));
}

void ProcessGroup::broadcast(void* data, size_t bytes, int root, Done done) {
  check_rank(root, "broadcast");
  start(std::make_shared<Broadcast>(
      CallSignature{CallKind::broadcast, DType::uint8, Reduction::sum, root, bytes}, data, std::move(done)));
}

void ProcessGroup::all_gather(const void* in, void* out, size_t bytes, Done done) {
  const auto n = static_cast<size_t>(size());
  Stretches s{static_cast<const std::byte*>(in),
              static_cast<std::byte*>(out),
              std::vector<size_t>(n),
              std::vector(n, bytes),
              {},
              std::vector(n, bytes)};
  s.to_begin = begins_of(s.to_bytes);
  start(
      std::make_shared<Exchange>(CallSignature{CallKind::all_gather, DType::uint8, Reduction::sum, -1, bytes},
                                 std::move(s), std::move(done)));
}

void ProcessGroup::all_to_all(const void* in, std::span<const size_t> in_bytes, void* out,
                              std::span<const size_t> out_bytes, Done done) {
  const auto n = static_cast<size_t>(size());
  LOOMIX_CHECK(in_bytes.size() == n && out_bytes.size() == n, ValueError,
               "[comm] all_to_all has {} sizes to send and {} to receive; expected {} of each.",
               in_bytes.size(), out_bytes.size(), n);
  const auto own = static_cast<size_t>(rank());
  LOOMIX_CHECK(in_bytes[own] == out_bytes[own], ValueError,
               "[comm] all_to_all sends {} bytes to its own rank and expects {} from it.", in_bytes[own],
               out_bytes[own]);
  Stretches s{static_cast<const std::byte*>(in),
              static_cast<std::byte*>(out),
              {},
              {in_bytes.begin(), in_bytes.end()},
              {},
              {out_bytes.begin(), out_bytes.end()}};
  s.from_begin = begins_of(s.from_bytes);
  s.to_begin = begins_of(s.to_bytes);
  start(std::make_shared<Exchange>(CallSignature{CallKind::all_to_all, DType::uint8, Reduction::sum, -1, 0},
                                   std::move(s), std::move(done)));
}

void ProcessGroup::barrier(Done done) {
  const std::vector<size_t> nothing(static_cast<size_t>(size()));
  start(std::make_shared<Exchange>(
      CallSignature{}, Stretches{nullptr, nullptr, nothing, nothing, nothing, nothing}, std::move(done)));
}

void ProcessGroup::send(const void* data, size_t bytes, int to, int tag, Done done) {
  check_rank(to, "send");
  check_tag(tag, "send");
  start(std::make_shared<Single>(CallKind::send, to, const_cast<void*>(data), bytes, std::move(done)), tag);
}

void ProcessGroup::receive(void* data, size_t bytes, int from, int tag, Done done) {
  check_rank(from, "receive");
  check_tag(tag, "receive");
  start(std::make_shared<Single>(CallKind::receive, from, data, bytes, std::move(done)), tag);
}

size_t Parts::bytes() const { return std::accumulate(sizes.begin(), sizes.end(), size_t{0}); }

bool ProcessGroup::takes_parts(int rank) const {
  check_rank(rank, "takes_parts");
  return rank != state_->me && node_->core().links().takes_parts(state_->ranks[static_cast<size_t>(rank)]);
}

void ProcessGroup::send_parts(PartsRef parts, int to, int tag, Done done) {
  check_rank(to, "send_parts");
  check_tag(tag, "send_parts");
  start(std::make_shared<SingleInParts>(CallKind::send, to, std::move(parts), std::move(done)), tag);
}

void ProcessGroup::receive_parts(PartsRef parts, int from, int tag, Done done) {
  check_rank(from, "receive_parts");
  check_tag(tag, "receive_parts");
  start(std::make_shared<SingleInParts>(CallKind::receive, from, std::move(parts), std::move(done)), tag);
}

std::unique_ptr<ProcessGroup> ProcessGroup::subgroup(std::span<const int> ranks) {
  std::vector<int> members;
  for (const int rank : ranks) {
    check_rank(rank, "subgroup");
    members.push_back(state_->ranks[static_cast<size_t>(rank)]);
    LOOMIX_CHECK(std::count(ranks.begin(), ranks.end(), rank) == 1, ValueError,
                 "[comm] subgroup: rank {} is in it more than once.", rank);
  }
  LOOMIX_CHECK(std::find(ranks.begin(), ranks.end(), rank()) != ranks.end(), ValueError,
               "[comm] subgroup: rank {} calls it, and is none of its ranks.", rank());
  uint64_t number = 0;
  {
    // By the ranks alone: others may have made groups that this rank is not in.
    const std::lock_guard lock(state_->mutex);
    number = ++state_->subgroups[members];
  }
  return node_->make(state_->id + 0x9e3779b97f4a7c15ULL * number, std::move(members), state_->options);
}

std::unique_ptr<ProcessGroup> ProcessGroup::split(int color, int key) {
  const int own[2] = {color, key};
  std::vector<int> all(static_cast<size_t>(size()) * 2);
  wait_for_call([&](Done done) { all_gather(own, all.data(), sizeof own, std::move(done)); });
  std::vector<int> members;
  for (int r = 0; r < size(); ++r) {
    if (all[static_cast<size_t>(2 * r)] == color) members.push_back(r);
  }
  std::stable_sort(members.begin(), members.end(), [&](int a, int b) {
    return all[static_cast<size_t>(2 * a + 1)] < all[static_cast<size_t>(2 * b + 1)];
  });
  return subgroup(members);
}

void ProcessGroup::give_up(const std::string& why) {
  node_->core().post(
      [core = &node_->core(), why = std::make_shared<std::string>(why)] { core->give_up(*why); });
}

GroupTraffic ProcessGroup::traffic() const {
  const std::lock_guard lock(state_->mutex);
  return state_->traffic;
}

void wait_for_call(const std::function<void(ProcessGroup::Done)>& start) {
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool over = false;
    std::exception_ptr error;
  };
  const auto state = std::make_shared<State>();
  // The memory may be used when the callable is gone, which is later than its call where the links still have it.
  start([state](std::exception_ptr error) {
    const std::lock_guard lock(state->mutex);
    state->over = true;
    state->error = std::move(error);
    state->changed.notify_all();
  });
  std::unique_lock lock(state->mutex);
  state->changed.wait(lock, [&] { return state->over; });
  if (state->error) std::rethrow_exception(state->error);
}

}  // namespace loomix::comm
