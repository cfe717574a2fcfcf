// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/scheduler.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/log.h"
#include "kvstore/cluster/chains.h"
#include "kvstore/cluster/messages.h"
#include "kvstore/cluster/node_metrics.h"
#include "kvstore/cluster/protocol.h"

namespace loomix::kvstore {
namespace {

// Of a view as it travels, at most: a member with a long address, a place in a chain, and the rest.
constexpr size_t kMemberBytes = 300;
constexpr size_t kLinkBytes = 40;
constexpr size_t kViewBytes = 4096;
constexpr auto kKeepRank = std::chrono::seconds(10);
constexpr auto kLastWords = std::chrono::seconds(3);  // until a server that does not leave is not waited for

// What a node says of the time before it came.
struct Told {
  View view;  // the latest that it knows; none if the process is new
  int64_t barriers = 0;
  int64_t least_epoch = 0;
  std::vector<std::pair<int32_t, uint64_t>> departed;  // workers that said goodbye to it
};

Told read_told(const messages::Register& message, int64_t workers) {
  Told told;
  told.barriers = message.barriers();
  told.least_epoch = in_range("Register.least_epoch", message.least_epoch(), 0, kEpoch / 2 - 1);
  for (const messages::Node& worker : message.departed()) {
    in_range("Register.departed.rank", worker.rank(), 0, workers - 1);
    told.departed.emplace_back(worker.rank(), worker.incarnation());
  }
  if (message.view().number() > 0) follow(told.view, message.view());
  return told;
}

Member* find_member(View& view, const comm::NodeName& name) {
  auto& members = name.role == comm::Role::server ? view.servers : view.workers;
  const bool known =
      name.role != comm::Role::scheduler && name.rank >= 0 && static_cast<size_t>(name.rank) < members.size();
  return known ? &members[static_cast<size_t>(name.rank)] : nullptr;
}

// The life of a process as its own latest view has it. One that knows no view is new, and comes after all others; one whose
// view names another process has been replaced.
constexpr int64_t kNewLife = INT64_MAX;
int64_t life_of(Told& told, const comm::NodeId& id) {
  if (told.view.number == 0) return kNewLife;
  const Member* const own = find_member(told.view, id.name);
  return own != nullptr && own->id == id ? own->since : 0;
}

}  // namespace

// Everything runs on the endpoint's thread; other threads see `shown`, a copy of the view.
struct Scheduler::Core {
  Core(std::unique_ptr<comm::Transport> transport, const ClusterOptions& given)
      : options(given),
        endpoint(std::move(transport), {kScheduler, comm::new_incarnation()}, given.endpoint) {
    check_size();
    view.policy = options.policy;
    view.servers.resize(static_cast<size_t>(options.servers));
    view.workers.resize(static_cast<size_t>(options.workers));
    for (auto* members : {&view.servers, &view.workers}) {
      for (size_t rank = 0; rank < members->size(); ++rank) {
        (*members)[rank].id.name = {members == &view.servers ? comm::Role::server : comm::Role::worker,
                                    static_cast<int32_t>(rank)};
      }
    }
    view.chains = first_chains(options.servers, places());
    show();
    endpoint.serve(kToScheduler, [this](comm::Incoming&& incoming) { on_message(std::move(incoming)); });
    endpoint.on_peer([this](const comm::PeerEvent& event) { on_peer(event); });
    metrics = serve_metrics(endpoint, static_cast<size_t>(options.servers),
                            [this](comm::MetricsText& text) { add_view_metrics(text, view); });
    endpoint.after(options.complete_within, [this] { expect_all(); });
    endpoint.post([this] { tell_who_is_late(); });
  }
  int places() const { return std::clamp(options.replicas, 1, options.servers); }  // of a chain

  // A view has to fit into the head of a message.
  void check_size() const {
    const size_t most = options.endpoint.limits.header_bytes;
    const auto servers = static_cast<size_t>(options.servers);
    const size_t nodes = servers + static_cast<size_t>(options.workers);
    const size_t bytes =
        nodes * kMemberBytes + servers * static_cast<size_t>(places()) * kLinkBytes + kViewBytes;
    LOOMIX_CHECK(bytes <= most, ValueError,
                 "[KVStore] a view of {} servers with {} copies and {} workers takes a message of {} bytes; "
                 "at most {} are allowed.",
                 options.servers, places(), options.workers, bytes, most);
  }
  Member* member(const comm::NodeName& name) { return find_member(view, name); }

  bool has_come(const Member& member) const {
    const auto found = gathered.find(member.id.name);
    return found != gathered.end() && !found->second.gone;
  }

  void expect_all() {
    if (view.number > 0 || last_told.number > 0) return;
    std::string missing;
    for (const auto* members : {&view.servers, &view.workers}) {
      for (const Member& one : *members) {
        if (!has_come(one))
          missing += fmt::format("{}{}", missing.empty() ? "" : ", ", one.id.name.to_string());
      }
    }
    view.failure = fmt::format(
        "{} did not come within {:.1f} s; expected {} servers and {} workers. Check that they run with this "
        "scheduler's address (DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT) and the numbers (DMLC_NUM_SERVER, "
        "DMLC_NUM_WORKER; -s and -n of the launcher).",
        missing, std::chrono::duration<double>(options.complete_within).count(), view.servers.size(),
        view.workers.size());
    show();
    for (auto& [name, newcomer] : std::exchange(gathered, {})) {
      for (comm::Responder& responder : newcomer.responders) responder.fail(view.failure);
    }
  }

  void on_message(comm::Incoming&& incoming) {
    if (!incoming.responder) return;  // a notice is none of ours
    const auto told = decode<messages::ToScheduler>(incoming.message);
    switch (told.what_case()) {
      case messages::ToScheduler::kRegister: return enter(std::move(incoming), told.register_());
      case messages::ToScheduler::kBarrier: return arrive(std::move(incoming), told.barrier().number());
      case messages::ToScheduler::kAskRank: return give_rank(std::move(incoming));
      case messages::ToScheduler::kLeaving: return leaving(std::move(incoming), told.leaving().why());
      case messages::ToScheduler::kSynchronised:
        return synchronised(std::move(incoming), told.synchronised());
      case messages::ToScheduler::kUnreached:
        return learn_who_is_unreached(std::move(incoming), told.unreached());
      case messages::ToScheduler::WHAT_NOT_SET: break;
    }
    incoming.responder.fail("the message is of no kind that is known here.");
  }

  void enter(comm::Incoming&& incoming, const messages::Register& message) {
    Member* const known = member(incoming.from.name);
    if (known == nullptr) {
      return incoming.responder.fail(fmt::format("{} is none of {} servers and {} workers.",
                                                 incoming.from.name.to_string(), view.servers.size(),
                                                 view.workers.size()));
    }
    if (message.version() != kKVStoreVersion) {
      return incoming.responder.fail(fmt::format(
          "{} at {} speaks version {} of the parameter server's protocol, and the scheduler {}; install the "
          "same release everywhere.",
          incoming.from.name.to_string(), message.address(), message.version(), kKVStoreVersion));
    }
    if (view.number == 0 && !view.failure.empty()) return incoming.responder.fail(view.failure);
    Told told = read_told(message, static_cast<int64_t>(view.workers.size()));
    if (told.view.number > 0 && (told.view.servers.size() != view.servers.size() ||
                                 told.view.workers.size() != view.workers.size())) {
      return incoming.responder.fail(
          fmt::format("{} comes from a cluster of {} servers and {} workers, and this one has {} and {}.",
                      incoming.from.name.to_string(), told.view.servers.size(), told.view.workers.size(),
                      view.servers.size(), view.workers.size()));
    }
    if (view.number == 0) return gather(std::move(incoming), message.address(), std::move(told));
    if (is_replaced(*known, incoming.from, life_of(told, incoming.from)))
      return refuse_as_replaced(incoming.responder, incoming.from.name);
    // A view of a predecessor that nobody had told of: what comes from here must come after it.
    const bool behind = told.view.number > view.number;
    if (behind) view.number = next_epoch(told.view.number);
    if (admit(*known, incoming.from, message.address()) || behind) change();
    if (incoming.from.name.role == comm::Role::worker) learn_of_barriers(told.barriers);
    changes.note(view);  // for its barriers, which are no change that is told
    incoming.responder.reply(encode(changes.since(0)));
  }

  // Whether another process with this name came after it.
  static bool is_replaced(const Member& known, const comm::NodeId& id, int64_t life) {
    return known.id.incarnation != 0 && known.id != id && life < std::max<int64_t>(known.since, 1);
  }

  static void refuse_as_replaced(comm::Responder& responder, const comm::NodeName& name) {
    responder.fail(fmt::format("{} was started again since.", name.to_string()), kReplaced);
  }

  // Whether that is news.
  bool admit(Member& known, const comm::NodeId& from, const std::string& address) {
    const bool news = !known.up || known.id.incarnation != from.incarnation;
    const bool again = known.id.incarnation != 0 && known.id.incarnation != from.incarnation;
    if (again && from.name.role == comm::Role::worker) at_barrier.erase(from.name.rank);
    if (again || known.since == 0) known.since = view.number + 1;
    let_in(known);
    known.id = from;
    endpoint.expect(from);
    known.address = address;
    known.departed = false;
    if (again && from.name.role == comm::Role::server) bring_back(view, from.name.rank);
    return news;
  }

  void let_in(Member& known) {
    const bool left_out = !known.up && options.policy == DeadWorker::go_on;
    if (left_out && known.id.name.role == comm::Role::worker) known.since = view.number + 1;
    known.up = true;
  }

  // Until there is a view: all must come or, where a predecessor had one, all that were up in its last one.
  void gather(comm::Incoming&& incoming, const std::string& address, Told&& told) {
    const int64_t life = life_of(told, incoming.from);
    barriers_told = std::max(barriers_told, told.barriers);
    least_epoch = std::max(least_epoch, told.least_epoch);
    departed_told.insert(told.departed.begin(), told.departed.end());
    if (told.view.number > last_told.number) learn_of_predecessor(std::move(told.view));
    if (last_told.number > 0 && is_replaced(*find_member(last_told, incoming.from.name), incoming.from, life))
      return refuse_as_replaced(incoming.responder, incoming.from.name);
    endpoint.expect(incoming.from);
    Newcomer& newcomer = gathered[incoming.from.name];
    if (newcomer.id != incoming.from) {
      for (comm::Responder& responder : std::exchange(newcomer.responders, {}))
        refuse_as_replaced(responder, incoming.from.name);
    }
    newcomer.id = incoming.from;
    newcomer.life = life;
    newcomer.address = address;
    newcomer.gone = false;
    newcomer.responders.push_back(std::move(incoming.responder));
    begin_if_all_came();
  }

  // Processes that came before and have been replaced are no members of it.
  void learn_of_predecessor(View&& told) {
    if (last_told.number == 0) wait_for_the_others();
    last_told = std::move(told);
    for (auto entry = gathered.begin(); entry != gathered.end();) {
      Newcomer& newcomer = entry->second;
      const Member& known = *find_member(last_told, entry->first);
      if (!is_replaced(known, newcomer.id, newcomer.life)) {
        ++entry;
        continue;
      }
      endpoint.expect(known.id);
      for (comm::Responder& responder : newcomer.responders) refuse_as_replaced(responder, entry->first);
      entry = gathered.erase(entry);
    }
  }

  void begin_if_all_came() {
    const auto came = [this](const Member& member) { return has_come(member); };
    const auto came_if_up = [&](const Member& member) {
      return !member.up || has_departed(member) || came(member);
    };
    const View& expected = last_told.number > 0 ? last_told : view;
    const auto all = [&](const auto& test) {
      return std::all_of(expected.servers.begin(), expected.servers.end(), test) &&
             std::all_of(expected.workers.begin(), expected.workers.end(), test);
    };
    if (last_told.number > 0 ? all(came_if_up) : all(came)) begin();
  }

  // While there was no scheduler that could hear it.
  bool has_departed(const Member& member) const {
    return member.id.name.role == comm::Role::worker &&
           departed_told.contains({member.id.name.rank, member.id.incarnation});
  }

  void wait_for_the_others() {
    endpoint.after(options.return_within, [this] {
      if (view.number == 0) begin();
    });
  }

  // The first view of all, or the first one after the predecessor's. Its epoch is the next: the predecessor may have told later views to
  // nodes that are gone.
  void begin() {
    auto newcomers = std::exchange(gathered, {});
    std::erase_if(newcomers, [](const auto& entry) { return entry.second.gone; });
    if (last_told.number > 0) {
      view = last_told;
      view.number = next_epoch(view.number);
      view.barriers = std::max(view.barriers, barriers_told);
    } else {
      view.number = least_epoch * kEpoch;
    }
    for (auto* members : {&view.servers, &view.workers}) {
      for (Member& known : *members) {
        const auto back = newcomers.find(known.id.name);
        const bool same = back != newcomers.end() && back->second.id == known.id;
        if (!known.up || same) continue;
        known.up = false;
        known.departed = has_departed(known);
        if (known.id.name.role == comm::Role::worker && back == newcomers.end()) {
          fail_for(
              known,
              fmt::format("{} at {} did not come back within {:.0f} s when the scheduler was started anew.",
                          known.id.name.to_string(), known.address,
                          std::chrono::duration<double>(options.return_within).count()));
        }
      }
    }
    if (last_told.number > 0) drop_dead_places(view);
    for (auto& [name, newcomer] : newcomers) admit(*member(name), newcomer.id, newcomer.address);
    change();
    for (auto& [name, newcomer] : newcomers) {
      for (comm::Responder& responder : newcomer.responders) responder.reply(encode(changes.since(0)));
    }
  }

  void fail_for(const Member& worker, const std::string& reason) {
    if (options.policy != DeadWorker::fail || !view.failure.empty() || worker.departed) return;
    view.failure = reason;
  }

  void learn_who_is_unreached(comm::Incoming&& incoming, const messages::Unreached& told) {
    const Member* const known = member(incoming.from.name);
    if (known == nullptr || incoming.from.name.role != comm::Role::server || known->id != incoming.from)
      return incoming.responder.fail("only servers of the cluster say whom they do not reach.");
    const bool news = heard.learn(view, incoming.from, told);
    incoming.responder.reply({});
    if (!news) return;
    if (told.servers().empty())
      log(LogLevel::warning, "[KVStore] server {} reaches all servers that are there.",
          incoming.from.name.rank);
    if (std::exchange(listening, true)) return;
    endpoint.after(options.endpoint.dead_after / 4, [this] {  // others have something to say, too
      listening = false;
      unreached = heard;
      change();
    });
  }

  // The first that nobody has, or had but has lost; it is kept for the asker for a while.
  void give_rank(comm::Incoming&& incoming) {
    const comm::Role role = incoming.from.name.role;
    const View& known = view.number == 0 && last_told.number > 0 ? last_told : view;
    const std::vector<Member>& members = role == comm::Role::server ? known.servers : known.workers;
    const comm::TimePoint now = comm::Clock::now();
    for (const Member& one : members) {
      comm::TimePoint& kept = given[one.id.name];
      if (one.up || has_come(one) || kept > now) continue;
      kept = now + kKeepRank;
      messages::Rank reply;
      reply.set_rank(one.id.name.rank);
      return incoming.responder.reply(encode(reply));
    }
    incoming.responder.fail(
        fmt::format("all {} {}s of the cluster are there already.", members.size(), name_of(role)));
  }

  void leaving(comm::Incoming&& incoming, const std::string& why) {
    const Member* const known = member(incoming.from.name);
    if (known == nullptr || known->id != incoming.from)
      return incoming.responder.fail("only members of the cluster leave it.");
    if (known->id.name.role == comm::Role::server && !why.empty()) {
      if (view.failure.empty()) view.failure = fmt::format("{}: {}", known->id.name.to_string(), why);
      change();
      return incoming.responder.reply({});
    }
    on_peer(
        {incoming.from, why.empty() ? comm::PeerState::left : comm::PeerState::lost, known->address, why});
    incoming.responder.reply({});
  }

  // It was silent for too long here, but did not notice and will not register again.
  void come_back(Member& known) {
    if (view.number == 0 || known.up || known.departed) return;
    let_in(known);
    change();
  }

  void on_peer(const comm::PeerEvent& event) {
    if (const auto waiting = gathered.find(event.peer.name);
        waiting != gathered.end() && waiting->second.id == event.peer) {
      waiting->second.gone = event.state != comm::PeerState::up;
      begin_if_all_came();
    }
    Member* const known = member(event.peer.name);
    if (known == nullptr || known->id != event.peer) return;
    if (event.state == comm::PeerState::up) return come_back(*known);
    if (!known->up) return;
    known->up = false;
    if (event.peer.name.role == comm::Role::server) drop_dead_places(view);
    std::erase_if(at_barrier, [&](const auto& entry) {
      return event.peer.name.role == comm::Role::worker && entry.first == event.peer.name.rank;
    });
    if (event.peer.name.role == comm::Role::worker) {
      known->departed = event.state == comm::PeerState::left;
      fail_for(*known, fmt::format("{}{} was lost: {}", event.peer.name.to_string(),
                                   event.address.empty() ? "" : " at " + event.address, event.reason));
    }
    change();
    pass_barrier();
  }

  void show() {
    const std::lock_guard lock(mutex);
    shown = view;
    changed_at = comm::Clock::now();
  }

  void change() {
    part_chains(view, unreached);
    fill_chains(view, places(), unreached);
    ++view.number;
    const auto departed = [](const Member& worker) { return worker.departed; };
    view.ended = std::any_of(view.workers.begin(), view.workers.end(), departed) &&
                 std::all_of(view.workers.begin(), view.workers.end(), [&](const Member& worker) {
                   return !worker.up && (worker.departed || options.policy == DeadWorker::go_on);
                 });
    show();
    changes.note(view);
    for (const auto* members : {&view.servers, &view.workers}) {
      for (const Member& to : *members) {
        if (to.up) tell(to.id);
      }
    }
    if (view.failure.empty()) return;
    for (auto& [rank, arrival] : at_barrier) arrival.responder.fail(view.failure);
    at_barrier.clear();
  }

  // One message is on its way to a node at a time: what has changed since the view that it has.
  void tell(const comm::NodeId& to) {
    Watch& watch = watches[to.name];
    if (watch.by != to.incarnation) watch = {to.incarnation, 0, false};
    if (watch.busy || watch.has >= view.number) return;
    watch.busy = true;
    messages::FromScheduler message;
    *message.mutable_view() = changes.since(watch.has);
    comm::RequestOptions request;
    request.retry_after = options.retry_after;
    endpoint.request(to.name, kViews, encode(message), std::move(request),
                     [this, to, sent = view.number](comm::Reply&& reply) {
                       const auto here = decode_reply<messages::ViewHere>(endpoint, reply);
                       heard_of(to, sent, reply.error ? std::nullopt : std::optional(here.number()));
                     });
  }

  // The node has the view with the number `has`, or did not answer.
  void heard_of(const comm::NodeId& to, int64_t sent, std::optional<int64_t> has) {
    Watch& watch = watches[to.name];
    if (watch.by != to.incarnation) return;
    watch.busy = false;
    const int64_t had = watch.has;
    watch.has = has.value_or(had);
    const Member* const known = member(to.name);
    if (!known->up || known->id != to) return;
    if (!has) return endpoint.after(options.retry_after, [this, to] { tell_again(to); });
    if (sent != view.number || watch.has < had) tell(to);
  }

  // Whether all who are there have the newest view.
  bool has_told_all() const {
    const auto knows = [this](const Member& one) {
      const auto found = watches.find(one.id.name);
      return !one.up || (found != watches.end() && found->second.by == one.id.incarnation &&
                         found->second.has >= view.number);
    };
    return std::all_of(view.servers.begin(), view.servers.end(), knows) &&
           std::all_of(view.workers.begin(), view.workers.end(), knows);
  }

  void tell_again(const comm::NodeId& to) {
    const Member* const known = member(to.name);
    if (known->up && known->id == to) tell(to);
  }

  void arrive(comm::Incoming&& incoming, int64_t number) {
    const Member* const known = member(incoming.from.name);
    if (known == nullptr || incoming.from.name.role != comm::Role::worker || known->id != incoming.from)
      return incoming.responder.fail("only workers of the cluster meet at its barrier.");
    if (!view.failure.empty()) return incoming.responder.fail(view.failure);
    learn_of_barriers(number - 1);
    if (number <= view.barriers) return incoming.responder.reply({});
    at_barrier.insert_or_assign(incoming.from.name.rank, Arrival{number, std::move(incoming.responder)});
    pass_barrier();
  }

  // A worker has passed so many. One that was started anew may not know it from the others that came, and then workers who wait
  // here have not heard that they may go on.
  void learn_of_barriers(int64_t passed) {
    if (passed <= view.barriers) return;
    view.barriers = passed;
    for (auto& [rank, arrival] : at_barrier) {
      if (arrival.number <= passed) arrival.responder.reply({});
    }
    std::erase_if(at_barrier, [&](const auto& entry) { return entry.second.number <= passed; });
  }

  // All who wait do so for the next one. They go on when a server remembers it: a scheduler that is started anew learns from nodes
  // how far workers are, and those who went on may be gone by then.
  void pass_barrier() {
    if (at_barrier.empty() || passing > view.barriers) return;
    for (const Member& worker : view.workers) {
      const bool counts = worker.up || (options.policy != DeadWorker::go_on && !worker.departed);
      if (counts && !at_barrier.contains(worker.id.name.rank)) return;
    }
    passing = view.barriers + 1;
    messages::FromScheduler message;
    message.mutable_passing()->set_number(passing);
    comm::RequestOptions request;
    request.deadline = std::chrono::hours(24);  // those who wait here have deadlines of their own
    request.retry_after = options.retry_after;
    request.survive_restart = true;
    for (const Member& server : view.servers) {
      endpoint.request(server.id.name, kViews, encode(message), request,
                       [this, number = passing](comm::Reply&& reply) {
                         if (!reply.error) learn_of_barriers(number);
                       });
    }
  }

  // Those who wait at a barrier hear for whom, as long as these workers are there.
  void tell_who_is_late() {
    endpoint.after(options.deadline / kTellsInDeadline, [this] { tell_who_is_late(); });
    std::vector<int32_t> missing;
    for (const Member& worker : view.workers) {
      const int32_t rank = worker.id.name.rank;
      if (worker.departed || at_barrier.contains(rank)) continue;
      if (!worker.up && options.policy == DeadWorker::go_on) continue;
      if (!worker.up) return;
      missing.push_back(rank);
    }
    if (missing.empty()) return;
    const bool one = missing.size() == 1;
    for (auto& [rank, arrival] : at_barrier) {
      arrival.responder.waits(fmt::format("worker{} {}, which {} not come to barrier {}", one ? "" : "s",
                                          fmt::join(missing, ", "), one ? "has" : "have", arrival.number));
    }
  }

  void synchronised(comm::Incoming&& incoming, const messages::Synchronised& told) {
    incoming.responder.reply({});
    if (told.group() >= view.chains.size()) return;
    Chain& chain = view.chains[told.group()];
    if (chain.size() < 2) return;
    Link& last = chain.back();
    const Link& before = chain[chain.size() - 2];
    if (last.synchronised || last.server != incoming.from.name.rank || last.since != told.since() ||
        before.server != told.before() || before.since != told.before_since())
      return;
    last.synchronised = true;
    change();
  }

  const ClusterOptions options;
  View view;
  ViewChanges changes;  // of it
  struct Watch {
    uint64_t by = 0;    // the node's incarnation
    int64_t has = 0;    // the view that it has
    bool busy = false;  // it is being told of a later one
  };
  std::map<comm::NodeName, Watch> watches;          // one entry a member
  std::map<comm::NodeName, comm::TimePoint> given;  // ranks, and until when they are kept; one entry a member
  struct Newcomer {
    comm::NodeId id;
    int64_t life = 0;
    std::string address;
    bool gone = false;
    std::vector<comm::Responder> responders;  // one that was lost for a moment may ask twice
  };
  std::map<comm::NodeName, Newcomer> gathered;  // emptied by the first view
  View last_told;                               // the latest view of a predecessor
  int64_t barriers_told = 0;
  int64_t least_epoch = 0;                               // that no snapshot on disk has
  std::set<std::pair<int32_t, uint64_t>> departed_told;  // workers that said goodbye to others
  Unreached heard, unreached;                            // the latter is in force
  bool listening = false;                                // what was heard is not in force yet
  struct Arrival {
    int64_t number;
    comm::Responder responder;
  };
  std::map<int32_t, Arrival> at_barrier;  // by the workers' ranks
  int64_t passing = 0;                    // the barrier that servers were told of last
  mutable std::mutex mutex;               // guards the next two
  View shown;
  comm::TimePoint changed_at;                    // when `shown` was made
  comm::Endpoint endpoint;                       // its handlers use all the others until it is gone
  std::unique_ptr<comm::MetricsServer> metrics;  // last: it asks the endpoint
};

Scheduler::Scheduler(std::unique_ptr<comm::Transport> transport, const ClusterOptions& options)
    : core_(std::make_unique<Core>(std::move(transport), options)) {}
Scheduler::~Scheduler() = default;
const std::string& Scheduler::address() const { return core_->endpoint.address(); }
comm::EndpointStats Scheduler::traffic() const { return core_->endpoint.stats(); }
View Scheduler::view() const {
  const std::lock_guard lock(core_->mutex);
  return core_->shown;
}
Standing Scheduler::standing() const {
  std::unique_lock lock(core_->mutex);
  const View& view = core_->shown;
  const comm::Duration quiet = comm::Clock::now() - core_->changed_at;
  const auto up = [](const Member& member) { return member.up; };
  Standing standing{.failure = view.failure};
  // Servers leave when they have heard of it.
  standing.ended =
      view.ended && (quiet > kLastWords || std::none_of(view.servers.begin(), view.servers.end(), up));
  if (view.number > 0 && !view.ended && view.failure.empty() && quiet > core_->options.complete_within &&
      std::none_of(view.workers.begin(), view.workers.end(), up))
    standing.failure = "all workers were lost, and none came back.";
  lock.unlock();  // the endpoint's thread may want it
  if (!standing.failure.empty())
    core_->endpoint.run([this, &standing] { standing.told = core_->has_told_all(); });
  return standing;
}

}  // namespace loomix::kvstore
