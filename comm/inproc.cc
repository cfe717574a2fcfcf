// SPDX-License-Identifier: Apache-2.0
// Each node has a box of events with the times at which they are due. The network's mutex guards who is where; a box's mutex
// guards its events; the former is taken first.
#include "comm/inproc.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <map>
#include <mutex>
#include <queue>
#include <random>
#include <set>
#include <unordered_map>

#include "base/error.h"

namespace loomix::comm {
namespace {

struct Event {
  enum class Kind : uint8_t { packet, down } kind;
  TimePoint due;
  uint64_t order;
  LinkId link;
  Packet packet;
};
struct Later {
  bool operator()(const Event& a, const Event& b) const {
    return std::pair(a.due, a.order) > std::pair(b.due, b.order);
  }
};

struct Box {
  const std::string address;
  std::atomic<bool> killed{false};
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<Event> events;  // heap
  bool woken = false;
  uint64_t order = 0;

  explicit Box(std::string where) : address(std::move(where)) {}
  void put(Event event) {
    const std::lock_guard lock(mutex);
    event.order = ++order;
    events.push_back(std::move(event));
    std::push_heap(events.begin(), events.end(), Later{});
    changed.notify_one();
  }
};
using BoxPtr = std::shared_ptr<Box>;

using Pair = std::pair<std::string, std::string>;
Pair pair_of(const std::string& a, const std::string& b) { return std::minmax(a, b); }

}  // namespace

struct InprocNetwork::State {
  const uint64_t seed;
  std::atomic<LinkId> next_link{1};
  std::mutex mutex;  // guards the rest
  Faults faults;
  std::map<Pair, Faults> special;
  std::set<Pair> cuts;
  std::map<std::string, BoxPtr> boxes;
  // Where links lead: a link has one number at both ends.
  struct Ends {
    BoxPtr ends[2];  // the second one is null until somebody listens there
    std::string to;
    std::mt19937_64 dice[2];
  };
  std::unordered_map<LinkId, Ends> links;

  explicit State(uint64_t s) : seed(s) {}

  const Faults& faults_of(const Pair& pair) const {
    const auto found = special.find(pair);
    return found == special.end() ? faults : found->second;
  }

  void open(LinkId id, const BoxPtr& from, const std::string& to) {
    Ends& link = links[id];
    const auto listening = boxes.find(to);
    link.ends[0] = from;
    link.to = to;
    if (listening != boxes.end()) link.ends[1] = listening->second;
    for (int way = 0; way < 2; ++way) {
      const std::string name = (way == 0 ? from->address + '>' + to : to + '>' + from->address);
      link.dice[way].seed(seed ^ std::hash<std::string>{}(name));
    }
  }

  void transfer(LinkId id, const BoxPtr& from, const Packet& packet) {
    const std::lock_guard lock(mutex);
    const auto found = links.find(id);
    if (found == links.end() || from->killed) return;
    Ends& link = found->second;
    const int way = link.ends[0] == from ? 0 : 1;
    if (const auto listening = boxes.find(link.to); !link.ends[1] && listening != boxes.end()) {
      link.ends[1] = listening->second;
    }
    const BoxPtr& to = link.ends[1 - way];
    if (!to || to->killed) return;
    const Pair pair = pair_of(from->address, to->address);
    if (cuts.contains(pair)) return;
    const Faults& f = faults_of(pair);
    std::mt19937_64& dice = link.dice[way];
    std::uniform_real_distribution<double> unit(0, 1);
    const TimePoint now = Clock::now();
    const double lost = unit(dice), doubled = unit(dice), late = unit(dice), spread = unit(dice);
    if (lost < f.loss) return;
    const auto delay = [&](double share) {
      return f.delay_least + std::chrono::duration_cast<Duration>((f.delay_most - f.delay_least) * share);
    };
    // What is reordered waits for a little longer than others take.
    const Duration extra = late < f.reordering ? 2 * f.delay_most + std::chrono::milliseconds(2) : Duration{};
    const auto put = [&](TimePoint due) { to->put({Event::Kind::packet, due, 0, id, packet}); };
    put(now + delay(spread) + extra);
    if (doubled < f.duplication) put(now + delay(1 - spread) + extra + std::chrono::milliseconds(1));
  }

  // The other end is told.
  void end(LinkId id, const BoxPtr& from) {
    const std::lock_guard lock(mutex);
    const auto found = links.find(id);
    if (found == links.end()) return;
    for (const BoxPtr& other : found->second.ends) {
      if (!other || other == from || cuts.contains(pair_of(from->address, other->address))) continue;
      other->put({Event::Kind::down, Clock::now(), 0, id, {}});
    }
    links.erase(found);
  }

  // Those of a node; the others may be told.
  void end_links(const BoxPtr& box, bool tell) {
    std::erase_if(links, [&](const auto& entry) {
      const auto& [id, link] = entry;
      if (link.ends[0] != box && link.ends[1] != box) return false;
      for (const BoxPtr& other : link.ends) {
        if (tell && other && other != box) other->put({Event::Kind::down, Clock::now(), 0, id, {}});
      }
      return true;
    });
  }

  void kill(const std::string& address, bool reset) {
    const std::lock_guard lock(mutex);
    const auto box = boxes.find(address);
    if (box == boxes.end()) return;
    box->second->killed = true;
    end_links(box->second, reset);
    boxes.erase(box);
  }
};

namespace {

class InprocTransport final : public Transport {
 public:
  InprocTransport(std::shared_ptr<InprocNetwork::State> network, BoxPtr box)
      : network_(std::move(network)), box_(std::move(box)) {}
  ~InprocTransport() override {
    const std::lock_guard lock(network_->mutex);
    const auto found = network_->boxes.find(box_->address);
    if (found != network_->boxes.end() && found->second == box_) network_->boxes.erase(found);
    network_->end_links(box_, true);
  }

  std::string address() const override { return box_->address; }
  LinkId connect(const std::string& address) override {
    LOOMIX_CHECK(address.starts_with("inproc://"), ValueError,
                 "[comm] '{}' is no address of this network; expected inproc://name.", address);
    const LinkId id = network_->next_link++;
    const std::lock_guard lock(network_->mutex);
    if (!box_->killed) network_->open(id, box_, address);
    return id;
  }
  void close(LinkId link) override { network_->end(link, box_); }
  bool send(LinkId link, const Packet& packet) override {
    network_->transfer(link, box_, packet);
    return true;
  }
  void poll(TimePoint until, TransportEvents& events) override {
    std::vector<Event> due;
    {
      std::unique_lock lock(box_->mutex);
      for (;;) {
        const TimePoint now = Clock::now();
        while (!box_->events.empty() && box_->events.front().due <= now) {
          std::pop_heap(box_->events.begin(), box_->events.end(), Later{});
          due.push_back(std::move(box_->events.back()));
          box_->events.pop_back();
        }
        if (!due.empty() || box_->woken || now >= until) break;
        const TimePoint next = box_->events.empty() ? until : std::min(until, box_->events.front().due);
        box_->changed.wait_until(lock, next);
      }
      box_->woken = false;
    }
    for (Event& event : due) {
      if (box_->killed) return;
      if (event.kind == Event::Kind::packet) {
        events.on_packet(event.link, std::move(event.packet));
      } else {
        events.on_down(event.link, "the other end is gone");
      }
    }
  }
  void wake() noexcept override {
    const std::lock_guard lock(box_->mutex);
    box_->woken = true;
    box_->changed.notify_one();
  }
  std::string describe(LinkId) const override { return "inproc"; }

 private:
  const std::shared_ptr<InprocNetwork::State> network_;
  const BoxPtr box_;
};

}  // namespace

InprocNetwork::InprocNetwork(uint64_t seed, Faults faults) : state_(std::make_shared<State>(seed)) {
  state_->faults = faults;
}
InprocNetwork::~InprocNetwork() = default;

std::unique_ptr<Transport> InprocNetwork::attach(std::string address) {
  LOOMIX_CHECK(address.starts_with("inproc://"), ValueError,
               "[comm] '{}' is no address of this network; expected inproc://name.", address);
  state_->kill(address, true);
  auto box = std::make_shared<Box>(std::move(address));
  const std::lock_guard lock(state_->mutex);
  state_->boxes[box->address] = box;
  return std::make_unique<InprocTransport>(state_, box);
}

void InprocNetwork::set_faults(Faults faults) {
  const std::lock_guard lock(state_->mutex);
  state_->faults = faults;
  state_->special.clear();
}
void InprocNetwork::set_faults(const std::string& a, const std::string& b, Faults faults) {
  const std::lock_guard lock(state_->mutex);
  state_->special[pair_of(a, b)] = faults;
}
void InprocNetwork::kill(const std::string& address, bool reset) { state_->kill(address, reset); }
void InprocNetwork::cut(const std::string& a, const std::string& b) {
  const std::lock_guard lock(state_->mutex);
  state_->cuts.insert(pair_of(a, b));
}
void InprocNetwork::heal(const std::string& a, const std::string& b) {
  const std::lock_guard lock(state_->mutex);
  state_->cuts.erase(pair_of(a, b));
}

}  // namespace loomix::comm
