// SPDX-License-Identifier: Apache-2.0
#include "comm/group/node.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "comm/metrics.h"

namespace loomix::comm {
namespace {

constexpr auto kAwake = std::chrono::microseconds(50);  // after something happened
constexpr auto kAwakeBusy =
    std::chrono::milliseconds(2);  // while bodies are on the way, which nobody tells of
constexpr size_t kMadeKept = 256;

uint64_t mix(uint64_t hash, uint64_t value) {  // FNV-1a, by 8 bytes
  for (int i = 0; i < 8; ++i) hash = (hash ^ (value >> (8 * i) & 0xff)) * 0x100000001b3ULL;
  return hash;
}

// Of short bodies, which go in their posts.
void append(std::string& message, const Parts& parts) {
  size_t at = message.size();
  message.resize(at + parts.bytes());
  for (size_t part = 0; part < parts.sizes.size(); at += parts.sizes[part++])
    parts.fill(part, reinterpret_cast<std::byte*>(message.data()) + at);
}
void use(const Parts& parts, const std::string& body) {
  size_t at = 0;
  for (size_t part = 0; part < parts.sizes.size(); at += parts.sizes[part++])
    parts.use(part, reinterpret_cast<const std::byte*>(body.data()) + at);
}

}  // namespace

struct GroupCore::Head {
  Kind kind = Kind::body;
  uint32_t part = 0;
  uint64_t group = 0, call = 0, bytes = 0, number = 0;
  CallSignature what;
};

uint64_t GroupState::calls_made() {
  const std::lock_guard lock(mutex);
  return calls;
}

int GroupState::place_of(int job_rank) const {
  const auto found = std::find(ranks.begin(), ranks.end(), job_rank);
  return found == ranks.end() ? -1 : static_cast<int>(found - ranks.begin());
}

int GroupCall::ranks() const { return static_cast<int>(group->ranks.size()); }
int GroupCall::me() const { return group->me; }
void GroupCall::send(int to, uint32_t part, const void* data, size_t bytes, After after) {
  core->send(*this, to, part, {static_cast<const std::byte*>(data), bytes}, nullptr, std::move(after));
}
void GroupCall::receive(int from, uint32_t part, void* data, size_t bytes, After after) {
  core->receive(*this, from, part, {static_cast<std::byte*>(data), bytes}, nullptr, std::move(after));
}
void GroupCall::send_parts(int to, PartsRef parts) { core->send(*this, to, 0, {}, std::move(parts), {}); }
void GroupCall::receive_parts(int from, PartsRef parts) {
  core->receive(*this, from, 0, {}, std::move(parts), {});
}

// ---- the thread ---------------------------------------------------------------------------------------------------

GroupCore::GroupCore(std::unique_ptr<GroupLinks> links)
    : links_(std::move(links)), peers_(static_cast<size_t>(links_->size())) {}

void GroupCore::post(Command command) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(command));
  }
  links_->wake();
}

void GroupCore::stop() {
  post([this] { running_ = false; });
}

std::string GroupCore::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void GroupCore::fail(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
}

void GroupCore::run() {
  thread_id_ = std::this_thread::get_id();
  std::vector<Command> commands;
  auto last = GroupClock::now();
  while (running_) {
    {
      const std::lock_guard lock(mutex_);
      commands.swap(inbox_);
    }
    const bool asked = !commands.empty();
    for (Command& command : commands) {
      command();
      command.reset();
    }
    commands.clear();
    const bool happened = links_->poll(*this);
    const auto now = GroupClock::now();
    if (now >= look_at_) {
      look();
      look_at_ = now + look_every_;
    }
    if (happened || asked) {
      last = now;
    } else if (now - last < (links_->busy() ? kAwakeBusy : kAwake)) {
      std::this_thread::yield();
    } else {
      links_->wait(std::chrono::duration_cast<std::chrono::microseconds>(look_at_ - now), calls_ > 0);
    }
  }
  for (const auto& [id, group] : std::map(groups_))
    break_up(*group, "[comm] the group was closed while a call was under way.", false);
  groups_.clear();
}

// ---- groups and calls -----------------------------------------------------------------------------------------------

void GroupCore::add(const std::shared_ptr<GroupState>& group) {
  group->progress.resize(group->ranks.size());
  groups_[group->id] = group;
  look_every_ = std::min(look_every_, group->options.deadline / (2 * kAsksInDeadline));
  deadline_ = std::max(deadline_, group->options.deadline);
  look_at_ = GroupClock::now();
  for (const int rank : group->ranks) {
    const Peer& peer = peers_[static_cast<size_t>(rank)];
    if (!peer.why.empty()) break_up(*group, "[comm] " + peer.why + ".");
  }
  const auto early = early_.find(group->id);
  if (early == early_.end()) return;
  auto messages = std::move(early->second);
  early_.erase(early);
  for (auto& [from, message] : messages) on_post(from, std::move(message));
}

void GroupCore::forget(uint64_t id) {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  found->second->closed = true;
  if (found->second->under_way.empty() && found->second->singles.empty()) groups_.erase(found);
}

void GroupCore::begin(GroupState& group, const std::shared_ptr<GroupCall>& call) {
  call->core = this;
  call->group = &group;
  ++calls_;
  call->open.resize(group.ranks.size());
  std::string broken;
  {
    const std::lock_guard lock(group.mutex);
    broken = group.broken;
    ++group.traffic.calls;
  }
  if (!broken.empty()) return finish(*call, std::make_exception_ptr(NetworkError(broken)));
  if ((call->number & GroupCall::kSingle) == 0) {
    group.under_way[call->number] = call;
    group.made[call->number] = call->signature;
    if (group.made.size() > kMadeKept) group.made.erase(group.made.begin());
    if (const auto told = group.told.find(call->number); told != group.told.end()) {
      const GroupState::Told other = told->second;
      group.told.erase(told);
      if (!agree(group, other.rank, call->number, other.what)) return;
    }
  } else {
    group.singles.push_back(call);
  }
  call->start();
  end_if_done(*call);
}

void GroupCore::end_if_done(GroupCall& call) {
  if (!call.over && call.all_open == 0) finish(call, nullptr);
}

// `call` is kept by who calls this.
void GroupCore::finish(GroupCall& call, std::exception_ptr error) {
  const auto self = call.shared_from_this();
  if (std::exchange(call.over, true)) return;
  --calls_;
  GroupState& group = *call.group;
  group.under_way.erase(call.number);
  std::erase(group.singles, self);
  {
    const std::lock_guard lock(group.mutex);
    group.traffic.waited_s += in_seconds(GroupClock::now() - call.since);
  }
  if (call.done) call.done(std::move(error));
  if (group.closed && group.under_way.empty() && group.singles.empty()) groups_.erase(group.id);
}

// The memory of calls that end with an error is let go of when the links are done with it: what waits there keeps the call.
void GroupCore::break_up(GroupState& group, const std::string& why, bool tell_others) {
  {
    const std::lock_guard lock(group.mutex);
    if (!group.broken.empty()) return;
    group.broken = why;
  }
  const auto keep = groups_.find(group.id) == groups_.end() ? nullptr : groups_[group.id];
  if (tell_others) {
    fail(why);
    for (const int rank : group.ranks) {
      if (rank != links_->rank()) tell(rank, Kind::broken, group.id, 0, why);
    }
  }
  group.places.clear();
  group.bodies.clear();
  const auto error = std::make_exception_ptr(NetworkError(why));
  for (const auto& [number, call] : std::map(group.under_way)) finish(*call, error);
  for (const auto& call : std::vector(group.singles)) finish(*call, error);
}

void GroupCore::give_up(const std::string& why) {
  const std::string text = fmt::format("rank {} has given up: {}", links_->rank(), why);
  fail(text);
  for (int rank = 0; rank < links_->size(); ++rank) {
    if (rank != links_->rank()) tell(rank, Kind::gave_up, 0, 0, text);
  }
  for (const auto& [id, group] : std::map(groups_)) break_up(*group, "[comm] " + text + ".", false);
}

void GroupCore::say_that_it_ends() {
  ended_at_ = GroupClock::now();
  for (int rank = 0; rank < links_->size(); ++rank) {
    if (rank != links_->rank()) tell(rank, Kind::ended, 0, 0, {});
  }
}

bool GroupCore::all_have_ended() {
  const auto now = GroupClock::now();
  bool all = true;
  for (size_t rank = 0; rank < peers_.size(); ++rank) {
    Peer& peer = peers_[rank];
    if (static_cast<int>(rank) == links_->rank() || peer.gone) continue;
    all = false;
    const auto silent = now - std::max(peer.heard, ended_at_);
    if (silent >= deadline_)
      fail(fmt::format("[comm] rank {} does not answer at the end; nothing was heard of it for {:.1f} s",
                       rank, in_seconds(silent)));
    if (now - peer.asked < look_every_) continue;
    peer.asked = now;
    tell(static_cast<int>(rank), Kind::ask, 0, 0, {});
  }
  return all;
}

// ---- messages -------------------------------------------------------------------------------------------------------

void GroupCore::tell(int to, Kind kind, uint64_t group, uint64_t call, std::string_view text) {
  Head head;
  head.kind = kind;
  head.group = group;
  head.call = call;
  std::string message(reinterpret_cast<const char*>(&head), sizeof head);
  message += text.substr(0, GroupLinks::kMostPost - sizeof head);
  links_->post(to, std::move(message));
}

void GroupCore::send(GroupCall& call, int to, uint32_t part, std::span<const std::byte> data, PartsRef parts,
                     GroupLinks::Finished after) {
  const size_t bytes = parts ? parts->bytes() : data.size();
  GroupState& group = *call.group;
  const auto place = static_cast<size_t>(to);
  ++call.open[place];
  ++call.all_open;
  {
    const std::lock_guard lock(group.mutex);
    group.traffic.sent[place] += bytes;
  }
  const int rank = group.ranks[place];
  Head head;
  head.part = part;
  head.group = group.id;
  head.call = call.number;
  head.bytes = bytes;
  head.what = call.signature;
  const bool is_short = bytes <= GroupLinks::kMostPost - sizeof head;
  if (!is_short) head.number = ++peers_[static_cast<size_t>(rank)].next;
  std::string message(reinterpret_cast<const char*>(&head), sizeof head);
  if (is_short && parts) append(message, *parts);
  else if (is_short) message.append(reinterpret_cast<const char*>(data.data()), bytes);
  links_->post(rank, std::move(message));
  auto done = [this, self = call.shared_from_this(), to, after = std::move(after),
               stretch = begin_stretch(call, to, bytes, true)]() mutable {
    step_done(self, to, stretch, after);
  };
  // Not at once: the call may be beginning still.
  if (is_short) return post(std::move(done));
  if (parts) return links_->send_parts(rank, head.number, std::move(parts), std::move(done));
  links_->send(rank, head.number, data, std::move(done));
}

void GroupCore::receive(GroupCall& call, int from, uint32_t part, std::span<std::byte> memory, PartsRef parts,
                        GroupLinks::Finished after) {
  GroupState& group = *call.group;
  ++call.open[static_cast<size_t>(from)];
  ++call.all_open;
  GroupState::Place place{call.shared_from_this(), memory, std::move(parts), std::move(after)};
  const GroupState::Key key{from, call.number, part};
  const auto body = group.bodies.find(key);
  if (body == group.bodies.end()) {
    group.places[key].push_back(std::move(place));
    return;
  }
  GroupState::Body first = std::move(body->second.front());
  body->second.pop_front();
  if (body->second.empty()) group.bodies.erase(body);
  meet(group, from, std::move(first), std::move(place));
}

void GroupCore::meet(GroupState& group, int from, GroupState::Body&& body, GroupState::Place&& place) {
  if (body.bytes != place.bytes()) {
    return break_up(group,
                    fmt::format("[comm] rank {} sent {} bytes in {}; rank {} expects {}.", from, body.bytes,
                                place.call->signature.to_string(), group.me, place.bytes()));
  }
  {
    const std::lock_guard lock(group.mutex);
    group.traffic.received[static_cast<size_t>(from)] += body.bytes;
  }
  const Stretch stretch = begin_stretch(*place.call, from, body.bytes, false);
  auto done = [this, call = std::move(place.call), from, after = std::move(place.finished),
               stretch]() mutable { step_done(call, from, stretch, after); };
  if (body.number == 0) {
    if (place.parts) use(*place.parts, body.here);
    else if (!body.here.empty()) std::memcpy(place.memory.data(), body.here.data(), body.here.size());
    return post(std::move(done));
  }
  const int rank = group.ranks[static_cast<size_t>(from)];
  if (place.parts) return links_->receive_parts(rank, body.number, std::move(place.parts), std::move(done));
  links_->receive(rank, body.number, place.memory, std::move(done));
}

std::string GroupCore::track_name(const GroupCall& call, int rank, bool outward) const {
  return fmt::format("rank {} {} rank {}", links_->rank(), outward ? "to" : "from",
                     call.group->ranks[static_cast<size_t>(rank)]);
}

GroupCore::Stretch GroupCore::begin_stretch(const GroupCall& call, int rank, size_t bytes, bool outward) {
  const engine::Trace* const trace = call.group->options.trace;
  if (trace == nullptr || !trace->enabled()) return {};
  std::vector<bool>& in_use = tracks_[track_name(call, rank, outward)];
  const auto free = std::find(in_use.begin(), in_use.end(), false);
  const auto track = static_cast<size_t>(free - in_use.begin());
  if (free == in_use.end()) in_use.push_back(true);
  in_use[track] = true;
  return {engine::Trace::now(), track, bytes, outward};
}

void GroupCore::end_stretch(const GroupCall& call, int rank, const Stretch& stretch) {
  if (stretch.begin == 0) return;
  const std::string name = track_name(call, rank, stretch.outward);
  tracks_[name][stretch.track] = false;
  call.group->options.trace->add(
      fmt::format("{} {}", name, stretch.track),
      fmt::format("{}: {} bytes", call.signature.with_number(call.number), stretch.bytes), "message",
      stretch.begin, engine::Trace::now());
}

void GroupCore::step_done(const std::shared_ptr<GroupCall>& call, int rank, const Stretch& stretch,
                          GroupLinks::Finished& after) {
  --call->open[static_cast<size_t>(rank)];
  --call->all_open;
  if (call->over) return;
  end_stretch(*call, rank, stretch);
  if (after) after();
  end_if_done(*call);
}

void GroupCore::on_post(int from, std::string&& message) {
  Peer& peer = peers_[static_cast<size_t>(from)];
  peer.heard = GroupClock::now();
  Head head;
  if (message.size() < sizeof head) return;
  std::memcpy(&head, message.data(), sizeof head);
  const auto rest = std::string_view(message).substr(sizeof head);
  if (head.kind == Kind::gave_up || head.kind == Kind::ended) {
    on_lost(from, head.kind == Kind::gave_up ? std::string(rest) : std::string());
    return;
  }
  const auto found = groups_.find(head.group);
  if (head.kind == Kind::ask) {
    if (found == groups_.end())
      return tell(from, Kind::here, head.group, 0, "where it has not made this group");
    GroupState& asked = *found->second;
    return tell(from, Kind::here, head.group, asked.calls_made(), doing(asked));
  }
  if (found == groups_.end()) {
    if (head.kind != Kind::here) early_[head.group].emplace_back(from, std::move(message));
    return;
  }
  const auto keep = found->second;
  GroupState& group = *keep;
  const int rank = group.place_of(from);
  if (rank < 0) return;
  if (head.kind == Kind::here) {
    GroupState::Progress& progress = group.progress[static_cast<size_t>(rank)];
    progress.made = std::max(progress.made, head.call);
    progress.doing = rest;
  }
  if (head.kind == Kind::broken) {
    fail(std::string(rest));
    break_up(group, std::string(rest), false);
  }
  if (head.kind == Kind::body) on_body(group, rank, head, rest);
}

void GroupCore::on_body(GroupState& group, int from, const Head& head, std::string_view rest) {
  {
    const std::lock_guard lock(group.mutex);
    if (!group.broken.empty()) return;
  }
  if ((head.call & GroupCall::kSingle) == 0 && !agree(group, from, head.call, head.what)) return;
  GroupState::Body body{head.bytes, head.number, std::string(rest)};
  const GroupState::Key key{from, head.call, head.part};
  const auto place = group.places.find(key);
  if (place == group.places.end()) {
    group.bodies[key].push_back(std::move(body));
    return;
  }
  GroupState::Place first = std::move(place->second.front());
  place->second.pop_front();
  if (place->second.empty()) group.places.erase(place);
  meet(group, from, std::move(body), std::move(first));
}

// ---- a rank -----------------------------------------------------------------------------------------------------------

GroupNode::GroupNode(std::unique_ptr<GroupLinks> links)
    : core_(std::make_shared<GroupCore>(std::move(links))), thread_([core = core_] { core->run(); }) {}

GroupNode::~GroupNode() { close(); }

void GroupNode::close() {
  if (!thread_.joinable()) return;
  core_->post([core = core_.get()] { core->say_that_it_ends(); });
  core_->stop();
  if (core_->on_own_thread()) {
    thread_.detach();  // the last group went with a call's end; the thread has a share of what it needs
  } else {
    thread_.join();
  }
}

std::unique_ptr<ProcessGroup> GroupNode::world(const GroupOptions& options, std::vector<int> ranks) {
  if (ranks.empty()) {
    ranks.resize(static_cast<size_t>(core_->links().size()));
    std::iota(ranks.begin(), ranks.end(), 0);
  }
  uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    number = ++worlds_[ranks];
  }
  return make(mix(mix(0xcbf29ce484222325ULL, 0), number), std::move(ranks), options);
}

std::unique_ptr<ProcessGroup> GroupNode::make(uint64_t id, std::vector<int> ranks,
                                              const GroupOptions& options) {
  uint64_t name = id;
  for (const int rank : ranks) name = mix(name, static_cast<uint64_t>(rank));
  const auto own = std::find(ranks.begin(), ranks.end(), core_->links().rank());
  const int me = static_cast<int>(own - ranks.begin());
  auto state = std::make_shared<GroupState>(name, std::move(ranks), me, options);
  core_->post([core = core_.get(), state] { core->add(state); });
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(groups_, [](const auto& one) { return one.second.expired(); });
    groups_.emplace(++made_, state);
    serve_metrics(options);
  }
  return std::make_unique<ProcessGroup>(shared_from_this(), std::move(state));
}

void GroupNode::end_process(std::chrono::milliseconds for_last_words) {
  const std::string failure = wait_for_the_end(for_last_words);
  if (!failure.empty()) core_->abort(failure);
  close();
  // Groups that the program still has keep the links, which would do this when they go.
  core_->flush();
}

// Why not all is well; empty if it is.
std::string GroupNode::wait_for_the_end(std::chrono::milliseconds for_last_words) {
  core_->post([core = core_.get()] { core->say_that_it_ends(); });
  const auto begin = GroupClock::now();
  for (std::atomic<int> seen{0};;) {
    seen = 0;
    core_->post([core = core_.get(), &seen] { seen = core->all_have_ended() ? 2 : 1; });
    while (seen == 0) std::this_thread::sleep_for(std::chrono::microseconds(50));
    const std::string failure = core_->failure();
    if (seen == 2 || (!failure.empty() && GroupClock::now() - begin >= for_last_words)) return failure;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace loomix::comm
