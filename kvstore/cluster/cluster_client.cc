// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/cluster_client.h"

#include <algorithm>
#include <future>

#include "base/error.h"
#include "base/log.h"
#include "kvstore/cluster/batch.h"
#include "kvstore/cluster/messages.h"

namespace loomix::kvstore {
namespace {

constexpr uint64_t kNobody = ~uint64_t{0};
constexpr auto kSoon = std::chrono::milliseconds(200);
constexpr int kMostBatches = 4;  // that an item may leave with before it leaves alone
constexpr auto kForTheReason = std::chrono::seconds(5);

// What is to be tried again: the head is lost or another one, or this worker has to join first.
bool is_for_now(const std::exception_ptr& error) {
  const Refusal refusal = refusal_of(error);
  return is_lost(error) || (refusal != kOther && refusal != kUnlike);
}

const std::string* key_of(const messages::Request& request) {
  if (request.has_push()) return &request.push().key();
  if (request.has_pull()) return &request.pull().key();
  return nullptr;
}

}  // namespace

struct ClusterClient::Pending {
  const size_t group;
  const std::string what;
  const comm::TimePoint since;
  // Guarded by the client's mutex; message and done are gone when it is done.
  comm::TimePoint deadline;
  Call call;
  uint64_t attempt = 0;  // answers to earlier ones do not count
  uint64_t request = 0;
  uint64_t head = 0;  // incarnation of the server that was asked last; kNobody while it is held back
  bool done = false;
  bool gathered = false;  // waits to leave with others
  bool alone = false;     // must leave without others
  int batches = 0;        // that did not get it an answer
};

size_t ClusterClient::Call::bytes() const {
  size_t bytes = 0;
  for (const comm::Buffer& part : payload) bytes += part.size();
  for (const std::span<std::byte> part : into) bytes += part.size();
  return bytes;
}

// What left together; answers count for items whose attempt is still the same.
struct ClusterClient::Batch {
  std::vector<PendingRef> items;
  std::vector<uint64_t> attempts;
};

ClusterClient::ClusterClient(std::unique_ptr<comm::Transport> transport, const NodeOptions& options)
    : rank_(options.rank),
      deadline_(options.deadline),
      late_deadline_(options.late_deadline),
      retry_after_(options.retry_after),
      batch_limits_(BatchLimits::within(options.endpoint.limits)),
      incarnation_(comm::new_incarnation()),
      owned_endpoint_(std::make_unique<comm::Endpoint>(
          std::move(transport), comm::NodeId{{comm::Role::worker, rank_}, incarnation_}, options.endpoint)),
      endpoint_(*owned_endpoint_) {
  membership_ = std::make_unique<Membership>(
      endpoint_, options, [this](const View& view) { on_view(view); },
      [this](std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        entry_error_ = error;
        changed_.notify_all();
      },
      [this] {
        const std::lock_guard lock(mutex_);
        return barriers_passed_;
      });
  {
    std::unique_lock lock(mutex_);
    const auto heard = [&] { return view_.number > 0 || entry_error_; };
    changed_.wait_for(lock, deadline_, heard);
    // A scheduler that is there says who is missing.
    if (!heard() && membership_->standing().failure.empty()) changed_.wait_for(lock, kForTheReason, heard);
    if (view_.number == 0) {
      const std::string why = entry_error_ ? text_of(entry_error_) : membership_->standing().failure;
      lock.unlock();
      detail::throw_error<NetworkError>(
          "[KVStore] worker {} found no complete cluster at the scheduler {}: {}", rank_, options.scheduler,
          why);
    }
    workers_ = static_cast<int>(view_.workers.size());
    groups_ = static_cast<int>(view_.chains.size());
    windows_.assign(view_.chains.size(), PushWindow<PendingRef>(push_window(view_.workers.size())));
    barriers_ = barriers_passed_ = view_.barriers;
  }
  join();
  metrics_ = serve_metrics(endpoint_, static_cast<size_t>(groups_),
                           [this](comm::MetricsText& text) { count(text); });
}

void ClusterClient::count(comm::MetricsText& text) {
  const std::lock_guard lock(mutex_);
  text.counter("loomix_pushes_total", "Shards of values pushed.").value(static_cast<double>(pushes_));
  text.counter("loomix_pulls_total", "Shards of values pulled.").value(static_cast<double>(pulls_));
  text.gauge("loomix_pending_calls", "Calls to servers without an answer.")
      .value(static_cast<double>(pending_.size()));
  text.gauge("loomix_cluster_view", "Number of the cluster's view that is known here.")
      .value(static_cast<double>(view_.number));
}

// The endpoint goes first: until then it may write where answers are wanted.
ClusterClient::~ClusterClient() {
  metrics_.reset();
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  { const std::unique_ptr<comm::Endpoint> last = std::move(owned_endpoint_); }
  for (const PendingRef& pending : std::set<PendingRef>(pending_))
    finish(pending, {}, std::make_exception_ptr(NetworkError("[KVStore] the store was closed.")));
}

// ---- joining -----------------------------------------------------------------------------------------------------

std::shared_ptr<const ClusterClient::KnownShards> ClusterClient::known() const {
  const std::lock_guard lock(mutex_);
  return known_;
}

ClusterClient::Call ClusterClient::join_call(size_t group) {
  Call call;
  call.group = group;
  call.request.mutable_join();
  call.what = fmt::format("joining group {}", group);
  return call;
}

void ClusterClient::learn(KnownShards& known, const comm::Message& reply) {
  messages::KnownShards told;
  decode(only_part(reply.payload).text(), told);
  for (const auto& shard : told.shards()) known[{shard.key(), shard.part()}] = shard.pushes();
}

void ClusterClient::join() {
  while (true) {
    int64_t life = 0;
    {
      const std::lock_guard lock(mutex_);
      life = since_;
    }
    auto known = std::make_shared<KnownShards>();
    for (size_t group = 0; group < static_cast<size_t>(groups_); ++group)
      learn(*known, call_and_wait(join_call(group)));
    const std::lock_guard lock(mutex_);
    if (life != since_) continue;  // it was left out meanwhile
    known_ = std::move(known);
    joined_ = true;
    return;
  }
}

// On the endpoint's thread. Other calls wait for it.
void ClusterClient::join_again(int64_t life) {
  struct Joining {
    KnownShards known;
    int left;
  };
  const auto joining = std::make_shared<Joining>();
  joining->left = groups_;
  for (size_t group = 0; group < static_cast<size_t>(groups_); ++group) {
    Call call = join_call(group);
    call.done = [this, joining, life](comm::Message reply, const std::exception_ptr& error) {
      try {
        if (error) std::rethrow_exception(error);
        learn(joining->known, reply);
      } catch (const std::exception& problem) {  // the calls that wait for it end by their deadlines
        if (is_closing()) return;                // there are none: the worker ends
        return log(LogLevel::error, "[KVStore] worker {} cannot join again: {}", rank_, problem.what());
      }
      if (--joining->left > 0) return;
      const std::lock_guard lock(mutex_);
      if (life != since_) return;
      known_ = std::make_shared<KnownShards>(std::move(joining->known));
      joined_ = true;
    };
    this->call(std::move(call));
  }
}

bool ClusterClient::is_closing() const {
  const std::lock_guard lock(mutex_);
  return closing_;
}

void ClusterClient::on_view(const View& view) {
  std::vector<PendingRef> moved;
  int64_t left_out = 0;
  {
    const std::lock_guard lock(mutex_);
    std::string failure = std::move(view_.failure);  // which is final
    view_ = view;
    if (view_.failure.empty()) view_.failure = std::move(failure);
    given_up_.clear();
    changed_.notify_all();
    const Member& own = view_.workers[static_cast<size_t>(rank_)];
    if (own.id.incarnation == incarnation_ && own.since != since_) {
      since_ = own.since;
      if (std::exchange(joined_, false)) left_out = since_;
    }
    for (const PendingRef& pending : pending_) {
      if (!view.failure.empty() ||
          (pending->head != view.head_member(pending->group).id.incarnation && pending->head != kNobody))
        moved.push_back(pending);
    }
  }
  for (const PendingRef& pending : moved) send(pending);
  if (left_out != 0) join_again(left_out);
}

comm::Duration ClusterClient::left(const Pending& pending) const {
  const std::lock_guard lock(mutex_);
  return pending.deadline - comm::Clock::now();
}

comm::TimePoint ClusterClient::renewed(comm::TimePoint since, comm::TimePoint deadline) const {
  return std::max(deadline, std::min(comm::Clock::now() + deadline_, since + late_deadline_));
}

// Somebody who answers says that others are late: the deadline of those who do not answer begins anew.
comm::TimePoint ClusterClient::wait_on(const PendingRef& pending, const std::string& for_whom) {
  log_who_is_late(pending->what, pending->since, for_whom);
  const std::lock_guard lock(mutex_);
  return pending->deadline = renewed(pending->since, pending->deadline);
}

// One line each deadline, whatever waits.
void ClusterClient::log_who_is_late(const std::string& what, comm::TimePoint since,
                                    const std::string& for_whom) {
  const comm::TimePoint now = comm::Clock::now();
  {
    const std::lock_guard lock(mutex_);
    if (now - std::max(since, told_late_) < deadline_) return;
    told_late_ = now;
  }
  const auto in_seconds = [](comm::Duration time) { return std::chrono::duration<double>(time).count(); };
  log(LogLevel::warning,
      "[KVStore] {} has waited {:.0f} s for {}. It is there, so it is waited for, {:.0f} s at most "
      "(LOOMIX_KV_LATE_DEADLINE).",
      what, in_seconds(now - since), for_whom, in_seconds(late_deadline_));
}

void ClusterClient::call(Call call) {
  if (call.request.has_push()) ++pushes_;
  if (call.request.has_pull()) ++pulls_;
  const comm::TimePoint now = comm::Clock::now();
  const auto pending =
      std::make_shared<Pending>(call.group, call.what, now, now + deadline_, std::move(call));
  if (may_go(pending)) send(pending);
}

// Pushes of values may have to wait for others of their group.
bool ClusterClient::may_go(const PendingRef& pending) {
  const std::lock_guard lock(mutex_);
  pending_.insert(pending);
  const Call& call = pending->call;
  if (!call.request.has_push()) return true;
  const messages::Push& push = call.request.push();
  if (windows_[pending->group].enter(pending, {push.key(), push.part()}, push.number(), call.priority,
                                     call.bytes()))
    return true;
  if (!view_.failure.empty()) return true;  // which ends it
  pending->head = kNobody;
  return false;
}

// Holding the mutex.
void ClusterClient::sign(messages::Request& request, size_t group) const {
  request.set_view(view_.number);
  request.set_group(static_cast<uint32_t>(group));
  request.set_worker(static_cast<uint32_t>(rank_));
  request.set_life(since_);
}

void ClusterClient::send(const PendingRef& pending) {
  if (!gathered(pending)) send_alone(pending);
}

void ClusterClient::send_alone(const PendingRef& pending) {
  std::string failure;
  std::exception_ptr unlike;
  comm::NodeName target;
  uint64_t attempt = 0;
  uint64_t replaced = 0;
  bool there = false;
  bool over = left(*pending) <= comm::Duration::zero();
  const std::string alone = without_scheduler();
  comm::Message message;
  comm::RequestOptions options;
  {
    const std::lock_guard lock(mutex_);
    if (pending->done || closing_) return;
    failure = view_.failure;
    if (const std::string* const key = key_of(pending->call.request)) {
      if (const auto found = refused_.find(*key); found != refused_.end()) unlike = found->second;
    }
    if (alone.empty()) given_up_.clear();
    if (over && !alone.empty()) given_up_.insert(pending->group);
    over = over ||
           given_up_.contains(pending->group);  // what comes next would wait as long, one after the other
    const Member& head = view_.head_member(pending->group);
    there = head.up && (joined_ || pending->call.request.has_join());
    target = head.id.name;
    pending->head = head.id.incarnation;
    attempt = ++pending->attempt;
    replaced = std::exchange(pending->request, 0);
    sign(pending->call.request, pending->group);
    message = encode(pending->call.request, pending->call.payload);
    options.priority = pending->call.priority;
    options.into = pending->call.into;
  }
  if (replaced != 0) endpoint_.cancel(replaced);
  if (!failure.empty()) {
    return finish(
        pending, {},
        std::make_exception_ptr(NetworkError(fmt::format("[KVStore] {}: {}", pending->what, failure))));
  }
  if (unlike) return finish(pending, {}, unlike);
  if (over) {
    return finish(
        pending, {},
        std::make_exception_ptr(comm::DeadlineError(fmt::format(
            "[KVStore] {} was not answered by {} in time.{}", pending->what, target.to_string(), alone))));
  }
  if (!there) return try_again_soon(pending);
  options.deadline = left(*pending);
  options.retry_after = retry_after_;
  options.on_waiting = [this, pending](const std::string& for_whom) { return wait_on(pending, for_whom); };
  uint64_t request = 0;
  try {
    request = endpoint_.request(
        target, kToServer, std::move(message), std::move(options),
        [this, pending, attempt](comm::Reply&& reply) { on_reply(pending, attempt, std::move(reply)); });
  } catch (const ValueError& error) {  // beyond the limits of a message
    return finish(
        pending, {},
        std::make_exception_ptr(ValueError(fmt::format("[KVStore] {}: {}", pending->what, error.what()))));
  }
  {
    const std::lock_guard lock(mutex_);
    if (!pending->done && pending->attempt == attempt) pending->request = request;
    over = pending->done;
  }
  if (over) endpoint_.cancel(request);  // what it sends is nobody's any more
}

// ---- together with others ----------------------------------------------------------------------------------------

bool ClusterClient::gathered(const PendingRef& pending) {
  uint64_t replaced = 0;
  bool first = false;
  {
    const std::lock_guard lock(mutex_);
    if (pending->gathered) return true;
    const Call& call = pending->call;
    if (pending->done || pending->alone || closing_ || !view_.failure.empty()) return false;
    const messages::Request& request = call.request;
    if (!request.has_push() && (!request.has_pull() || request.pull().row() != 0)) return false;
    const std::string& key = request.has_push() ? request.push().key() : request.pull().key();
    if (call.bytes() > kSmallItem || key.size() > kLongKey) return false;
    ++pending->attempt;
    replaced = std::exchange(pending->request, 0);
    pending->gathered = true;
    first = gathered_.empty();
    gathered_.push_back(pending);
  }
  if (replaced != 0) endpoint_.cancel(replaced);
  if (first) endpoint_.post([this] { send_gathered(); });
  return true;
}

void ClusterClient::send_gathered() {
  struct Open {
    std::vector<PendingRef> items;
    size_t bytes = 0;
  };
  std::vector<std::vector<PendingRef>> batches;
  {
    const std::lock_guard lock(mutex_);
    std::vector<PendingRef> all = std::exchange(gathered_, {});
    for (const PendingRef& pending : all) pending->gathered = false;
    std::erase_if(all, [](const PendingRef& pending) { return pending->done; });
    std::stable_sort(all.begin(), all.end(), [](const PendingRef& a, const PendingRef& b) {
      return a->call.priority > b->call.priority;
    });
    std::map<std::pair<size_t, bool>, Open> open;  // by group; pushes apart from pulls
    for (const PendingRef& pending : all) {
      const Call& call = pending->call;
      const size_t bytes = call.bytes();
      Open& batch = open[{pending->group, call.request.has_push()}];
      if (!batch.items.empty() && (batch.items.size() == batch_limits_.items ||
                                   next_part(batch.bytes) + bytes > batch_limits_.bytes)) {
        batches.push_back(std::move(batch.items));
        batch = {};
      }
      batch.items.push_back(pending);
      batch.bytes = next_part(batch.bytes) + bytes;
    }
    for (auto& [what, batch] : open) batches.push_back(std::move(batch.items));
  }
  for (std::vector<PendingRef>& batch : batches) send_batch(std::move(batch));
}

void ClusterClient::send_batch(std::vector<PendingRef> items) {
  if (items.size() == 1) return send_alone(items[0]);
  messages::Request request;
  std::vector<comm::Buffer> parts;
  comm::RequestOptions options;
  Batch batch;
  comm::NodeName target;
  bool good = false;
  {
    const std::lock_guard lock(mutex_);
    if (closing_) return;
    const Member& head = view_.head_member(items[0]->group);
    target = head.id.name;
    comm::Duration least = deadline_;
    for (const PendingRef& pending : items) {
      if (pending->done) continue;
      batch.items.push_back(pending);
      batch.attempts.push_back(++pending->attempt);
      pending->head = head.id.incarnation;
      least = std::min<comm::Duration>(least, pending->deadline - comm::Clock::now());
      const Call& call = pending->call;
      if (call.request.has_pull()) {
        *request.mutable_pulls()->add_items() = call.request.pull();
      } else {
        messages::Push& push = *request.mutable_pushes()->add_items();
        push = call.request.push();
        push.set_bytes(call.bytes());
        parts.push_back(call.payload[0]);
      }
    }
    if (batch.items.empty()) return;
    good = view_.failure.empty() && head.up && joined_ && least > comm::Duration::zero() &&
           !given_up_.contains(items[0]->group);
    options.priority = batch.items[0]->call.priority;
    options.deadline = least;
    options.retry_after = retry_after_;
    sign(request, batch.items[0]->group);
  }
  if (!good) {  // one at a time it is told apart what is to be done
    for (const PendingRef& pending : batch.items) send_alone(pending);
    return;
  }
  options.on_waiting = [this, items = batch.items](const std::string& for_whom) {
    comm::TimePoint deadline;
    for (const PendingRef& pending : items) deadline = std::max(deadline, wait_on(pending, for_whom));
    return deadline;
  };
  if (request.has_pushes()) parts = {join_parts(parts)};
  endpoint_.request(
      target, kToServer, encode(request, std::move(parts)), std::move(options),
      [this, batch = std::move(batch)](comm::Reply&& reply) { on_batch_reply(batch, std::move(reply)); });
}

void ClusterClient::send_again(const PendingRef& pending, uint64_t attempt, bool alone) {
  {
    const std::lock_guard lock(mutex_);
    if (pending->attempt != attempt || pending->done) return;
    pending->alone = alone || ++pending->batches >= kMostBatches;
  }
  send(pending);
}

// Whatever is no plain success is for single requests to tell: their answers name what was wrong with an item.
void ClusterClient::on_batch_reply(const Batch& batch, comm::Reply&& reply) {
  const auto outcomes = decode_reply<messages::Outcomes>(endpoint_, reply).items();
  const std::vector<comm::Buffer>& payload = reply.message.payload;
  const size_t wanted = batch.items.size();
  if (reply.error || static_cast<size_t>(outcomes.size()) != wanted || payload.size() > 1) {
    const bool later = reply.error && is_for_now(reply.error);
    for (size_t i = 0; i < wanted; ++i) {
      const PendingRef& pending = batch.items[i];
      if (later || (reply.error && left(*pending) <= comm::Duration::zero())) {
        on_reply(pending, batch.attempts[i], {reply.from, {}, reply.error});
      } else {
        send_again(pending, batch.attempts[i], true);
      }
    }
    return;
  }
  PartReader parts(payload.empty() ? comm::Buffer() : payload[0]);
  for (size_t i = 0; i < wanted; ++i) {
    const int64_t bytes = outcomes[static_cast<int>(i)];
    comm::Reply own{reply.from, {}, nullptr};
    bool good = bytes >= 0;
    if (good && !payload.empty()) {
      try {
        own.message.payload = {parts.next(static_cast<uint64_t>(bytes))};
      } catch (const NetworkError&) {
        good = false;
      }
    }
    if (good) {
      on_reply(batch.items[i], batch.attempts[i], std::move(own));
    } else {
      send_again(batch.items[i], batch.attempts[i], bytes != kNotYet);
    }
  }
}

// ---- answers -----------------------------------------------------------------------------------------------------

void ClusterClient::on_reply(const PendingRef& pending, uint64_t attempt, comm::Reply&& reply) {
  {
    const std::lock_guard lock(mutex_);
    if (pending->attempt != attempt || pending->done) return;
    pending->request = 0;
  }
  if (!reply.error) return finish(pending, std::move(reply.message), nullptr);
  if (is_for_now(reply.error)) return try_again_soon(pending);
  if (refusal_of(reply.error) == kUnlike) {
    return refuse_key(pending, std::make_exception_ptr(ShapeError(
                                   fmt::format("[KVStore] {}: {}", pending->what, text_of(reply.error)))));
  }
  finish(pending, {},
         std::make_exception_ptr(NetworkError(
             fmt::format("[KVStore] {}: {}{}", pending->what, text_of(reply.error), without_scheduler()))));
}

// Other parts of the key may be none of the cluster's, so that nobody would ever answer.
void ClusterClient::refuse_key(const PendingRef& pending, const std::exception_ptr& error) {
  std::vector<PendingRef> all;
  std::vector<uint64_t> unanswered;  // which hold the memory of what they send
  {
    const std::lock_guard lock(mutex_);
    const std::string* const key = key_of(pending->call.request);
    if (pending->done || key == nullptr) return;
    refused_.emplace(*key, error);
    for (const PendingRef& other : pending_) {
      const std::string* const its = key_of(other->call.request);
      if (its == nullptr || *its != *key) continue;
      all.push_back(other);
      if (other->request != 0) unanswered.push_back(std::exchange(other->request, 0));
    }
  }
  for (const uint64_t request : unanswered) endpoint_.cancel(request);
  for (const PendingRef& one : all) finish(one, {}, error);
}

// Then nobody takes the place of a head that is lost.
std::string ClusterClient::without_scheduler() const {
  const std::string lost = membership_->scheduler_lost();
  return lost.empty() ? lost : fmt::format(" Besides, {}", lost);
}

// After a moment; a newer view does it at once. Never, once the scheduler has been away for so long that servers end, too.
void ClusterClient::try_again_soon(const PendingRef& pending) {
  if (const std::string failure = membership_->standing().failure; !failure.empty()) {
    return finish(
        pending, {},
        std::make_exception_ptr(NetworkError(fmt::format("[KVStore] {}: {}", pending->what, failure))));
  }
  uint64_t attempt = 0;
  {
    const std::lock_guard lock(mutex_);
    attempt = pending->attempt;
  }
  endpoint_.after(std::min<comm::Duration>(kSoon, left(*pending)), [this, pending, attempt] {
    {
      const std::lock_guard lock(mutex_);
      if (pending->attempt != attempt || pending->done) return;
    }
    send(pending);
  });
}

void ClusterClient::finish(const PendingRef& pending, comm::Message message, std::exception_ptr error) {
  Call call;
  bool releases = false;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(pending->done, true)) return;
    pending_.erase(pending);
    call = std::move(pending->call);
    if (call.request.has_push()) {
      for (PendingRef& next : windows_[pending->group].leave(pending)) {
        next->head = 0;
        next->deadline = renewed(next->since, next->deadline);
        released_.push_back(std::move(next));
      }
      releases = !released_.empty() && !std::exchange(releasing_, true);
    }
  }
  call.done(std::move(message), std::move(error));
  while (releases) {  // one thread does it, so that many that end at once are no deep recursion
    PendingRef next;
    {
      const std::lock_guard lock(mutex_);
      releases = releasing_ = !released_.empty();
      if (!releases) break;
      next = std::move(released_.front());
      released_.pop_front();
    }
    send(next);
  }
}

comm::Message ClusterClient::call_and_wait(Call call) {
  auto promise = std::make_shared<std::promise<comm::Message>>();
  std::future<comm::Message> future = promise->get_future();
  call.done = [promise](comm::Message message, std::exception_ptr error) {
    error ? promise->set_exception(error) : promise->set_value(std::move(message));
  };
  this->call(std::move(call));
  return future.get();
}

void ClusterClient::leave(const std::string& why) {
  std::vector<PendingRef> unanswered;  // nobody may answer a worker that has left: they end now
  if (!why.empty()) {
    const std::lock_guard lock(mutex_);
    if (view_.failure.empty()) view_.failure = fmt::format("this worker has left: {}", why);
    unanswered.assign(pending_.begin(), pending_.end());
  }
  for (const PendingRef& pending : unanswered) send(pending);
  messages::ToScheduler message;
  message.mutable_leaving()->set_why(why);
  comm::RequestOptions options;
  options.deadline = std::min<comm::Duration>(deadline_, std::chrono::seconds(2));
  options.retry_after = retry_after_;
  endpoint_.call(kScheduler, kToScheduler, encode(message), std::move(options));
}

void ClusterClient::barrier(std::optional<int64_t> position) {
  const comm::TimePoint since = comm::Clock::now();
  const auto until = std::make_shared<std::atomic<comm::TimePoint>>(since + deadline_);
  int64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    barriers_ = position ? std::max(barriers_, *position) : barriers_ + 1;
    number = position.value_or(barriers_);
  }
  messages::ToScheduler message;
  message.mutable_barrier()->set_number(number);
  while (true) {
    comm::RequestOptions options;
    options.deadline =
        std::max<comm::Duration>(until->load() - comm::Clock::now(), std::chrono::milliseconds(1));
    options.retry_after = retry_after_;
    options.survive_restart = true;
    options.on_waiting = [this, since, until, number](const std::string& for_whom) {
      log_who_is_late(fmt::format("barrier {} of worker {}", number, rank_), since, for_whom);
      *until = renewed(since, *until);
      return until->load();
    };
    auto passed = std::make_shared<std::promise<void>>();
    endpoint_.request(kScheduler, kToScheduler, encode(message), std::move(options),
                      [this, passed, number](comm::Reply&& reply) {
                        if (reply.error) return passed->set_exception(reply.error);
                        {  // before this thread can tell a new scheduler how far we are
                          const std::lock_guard lock(mutex_);
                          barriers_passed_ = std::max(barriers_passed_, number);
                        }
                        passed->set_value();
                      });
    try {
      return passed->get_future().get();
    } catch (const comm::DeadlineError&) {
      throw;
    } catch (const NetworkError&) {  // lost for a moment, perhaps
      std::unique_lock lock(mutex_);
      if (!view_.failure.empty() || comm::Clock::now() > until->load()) throw;
      changed_.wait_for(lock, kSoon);
    }
  }
}

}  // namespace loomix::kvstore
