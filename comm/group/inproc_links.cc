// SPDX-License-Identifier: Apache-2.0
// Ranks that are threads of one process. A hub has a letter box for each; of a body and its place whoever comes second copies.
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "comm/group/node.h"

namespace loomix::comm {
namespace {

using Number = std::tuple<int, int, uint64_t>;  // from, to, number

struct Event {
  int from = -1;  // of a post; -1: a body is done with
  std::string message;
  Number body;
};

struct Hub {
  Hub(int ranks, const ArtificialLinks& links)
      : between(links), boxes(static_cast<size_t>(ranks)), out_free(boxes.size()), in_free(boxes.size()) {}
  struct Box {
    std::mutex mutex;  // guards the next two
    std::multimap<GroupClock::time_point, Event>
        events;  // by when they are there; those of one moment in order
    bool woken = false;
    std::condition_variable changed;
  };
  void put(int to, Event event, GroupClock::time_point when = {}) {
    Box& box = boxes[static_cast<size_t>(to)];
    const std::lock_guard lock(box.mutex);
    box.events.emplace(when, std::move(event));
    box.changed.notify_one();
  }
  GroupClock::duration time_of(size_t bytes) const {
    if (between.bytes_per_s <= 0) return {};
    return std::chrono::duration_cast<GroupClock::duration>(
        std::chrono::duration<double>(static_cast<double>(bytes) / between.bytes_per_s));
  }
  bool is_artificial() const { return between.bytes_per_s > 0 || between.latency.count() > 0; }

  const ArtificialLinks between;
  std::deque<Box> boxes;
  std::mutex mutex;  // guards the next four
  struct Body {
    std::span<const std::byte> memory;
    PartsRef parts;  // instead
  };
  struct Place {
    std::span<std::byte> memory;
    PartsRef parts;
  };
  std::map<Number, Body> bodies;  // what has come first
  std::map<Number, Place> places;
  std::vector<GroupClock::time_point> out_free,
      in_free;  // when each rank's line has passed all that is on it
};

class InprocLinks final : public GroupLinks {
 public:
  InprocLinks(std::shared_ptr<Hub> hub, int rank) : hub_(std::move(hub)), rank_(rank) {}
  ~InprocLinks() override {  // what it has left there nobody may copy any more
    const std::lock_guard lock(hub_->mutex);
    std::erase_if(hub_->bodies, [this](const auto& one) { return std::get<0>(one.first) == rank_; });
    std::erase_if(hub_->places, [this](const auto& one) { return std::get<1>(one.first) == rank_; });
  }
  std::string kind() const override { return "inproc"; }
  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(hub_->boxes.size()); }
  void post(int to, std::string message) override {
    GroupClock::time_point when;
    if (hub_->is_artificial()) {
      GroupClock::time_point& last = last_post_[to];  // they stay in order
      last = std::max(last, GroupClock::now() + hub_->between.latency + hub_->time_of(message.size()));
      when = last;
    }
    hub_->put(to, {rank_, std::move(message), {}}, when);
  }
  void send(int to, uint64_t number, std::span<const std::byte> body, Finished finished) override {
    put_body({rank_, to, number}, {body, nullptr}, std::move(finished));
  }
  void receive(int from, uint64_t number, std::span<std::byte> place, Finished finished) override {
    put_place({from, rank_, number}, {place, nullptr}, std::move(finished));
  }
  bool takes_parts(int) const override { return true; }
  void send_parts(int to, uint64_t number, PartsRef parts, Finished finished) override {
    put_body({rank_, to, number}, {{}, std::move(parts)}, std::move(finished));
  }
  void receive_parts(int from, uint64_t number, PartsRef parts, Finished finished) override {
    put_place({from, rank_, number}, {{}, std::move(parts)}, std::move(finished));
  }
  bool poll(LinkEvents& events) override {
    std::vector<Event> came;
    {
      Hub::Box& box = hub_->boxes[static_cast<size_t>(rank_)];
      const auto now = GroupClock::now();
      const std::lock_guard lock(box.mutex);
      const auto end = box.events.upper_bound(now);
      for (auto one = box.events.begin(); one != end; ++one) came.push_back(std::move(one->second));
      box.events.erase(box.events.begin(), end);
      box.woken = false;
    }
    for (Event& event : came) {
      if (event.from >= 0) {
        events.on_post(event.from, std::move(event.message));
      } else if (const auto found = under_way_.find(event.body); found != under_way_.end()) {
        Finished finished = std::move(found->second);
        under_way_.erase(found);
        finished();
      }
    }
    return !came.empty();
  }
  bool busy() const override { return false; }  // whoever copies tells the other
  void wait(std::chrono::microseconds at_most, bool) override {
    Hub::Box& box = hub_->boxes[static_cast<size_t>(rank_)];
    std::unique_lock lock(box.mutex);
    for (const auto until = GroupClock::now() + at_most; !box.woken;) {
      const auto next = box.events.empty() ? until : std::min(until, box.events.begin()->first);
      if (GroupClock::now() >= next) return;
      box.changed.wait_until(lock, next);
    }
  }
  void wake() noexcept override {
    Hub::Box& box = hub_->boxes[static_cast<size_t>(rank_)];
    const std::lock_guard lock(box.mutex);
    box.woken = true;
    box.changed.notify_one();
  }
  void abort(const std::string&) override {}

 private:
  void put_body(const Number& name, Hub::Body body, Finished finished) {
    under_way_.emplace(name, std::move(finished));
    const std::lock_guard lock(hub_->mutex);
    const auto place = hub_->places.find(name);
    if (place == hub_->places.end()) {
      hub_->bodies.emplace(name, std::move(body));
      return;
    }
    meet(name, body, place->second);
    hub_->places.erase(place);
  }
  void put_place(const Number& name, Hub::Place place, Finished finished) {
    under_way_.emplace(name, std::move(finished));
    const std::lock_guard lock(hub_->mutex);
    const auto body = hub_->bodies.find(name);
    if (body == hub_->bodies.end()) {
      hub_->places.emplace(name, std::move(place));
      return;
    }
    meet(name, body->second, place);
    hub_->bodies.erase(body);
  }
  void meet(const Number& name, const Hub::Body& body, const Hub::Place& place) {
    const size_t bytes = body.parts ? body.parts->bytes() : body.memory.size();
    if (body.parts && place.parts) {
      std::vector<std::byte> between(Parts::kMostBytes);
      for (size_t part = 0; part < body.parts->sizes.size(); ++part) {
        body.parts->fill(part, between.data());
        place.parts->use(part, between.data());
      }
    } else if (!body.memory.empty()) {
      std::memcpy(place.memory.data(), body.memory.data(), std::min(bytes, place.memory.size()));
    }
    const int from = std::get<0>(name), to = std::get<1>(name);
    GroupClock::time_point sent, there;
    if (hub_->is_artificial()) {
      const GroupClock::time_point now = GroupClock::now();
      const GroupClock::duration time = hub_->time_of(bytes);
      auto& out = hub_->out_free[static_cast<size_t>(from)];
      auto& in = hub_->in_free[static_cast<size_t>(to)];
      sent = out = std::max(now, out) + time;
      in = std::max(now, in) + time;
      there = std::max(out, in) + hub_->between.latency;
    }
    hub_->put(from, {-1, {}, name}, sent);
    hub_->put(to, {-1, {}, name}, there);
  }

  const std::shared_ptr<Hub> hub_;
  const int rank_;
  std::map<Number, Finished> under_way_;
  std::map<int, GroupClock::time_point> last_post_;  // when it is there, by rank
};

}  // namespace

std::vector<std::unique_ptr<ProcessGroup>> make_inproc_groups(int size, const GroupOptions& options,
                                                              const ArtificialLinks& between) {
  LOOMIX_CHECK(size > 0, ValueError, "[comm] a group of {} ranks; expected 1 or more.", size);
  LOOMIX_CHECK(between.bytes_per_s >= 0 && between.latency.count() >= 0, ValueError,
               "[comm] links of {} bytes/s and {} us; expected nothing below 0.", between.bytes_per_s,
               between.latency.count());
  const auto hub = std::make_shared<Hub>(size, between);
  std::vector<std::unique_ptr<ProcessGroup>> groups;
  for (int rank = 0; rank < size; ++rank)
    groups.push_back(std::make_shared<GroupNode>(std::make_unique<InprocLinks>(hub, rank))->world(options));
  return groups;
}

}  // namespace loomix::comm
