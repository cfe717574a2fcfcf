// SPDX-License-Identifier: Apache-2.0
#include "comm/endpoint.h"

#include <condition_variable>
#include <mutex>
#include <optional>

#include "comm/endpoint_core.h"

namespace loomix::comm {

Responder& Responder::operator=(Responder&& other) noexcept {
  if (this != &other) {
    Responder gone(std::move(*this));
    core_ = std::move(other.core_);
    peer_ = std::exchange(other.peer_, {});
    sequence_ = other.sequence_;
    priority_ = other.priority_;
  }
  return *this;
}

Responder::~Responder() {
  if (*this) fail("the handler dropped the request without an answer");
}

void Responder::reply(Message message) { answer(std::move(message), false); }

void Responder::fail(std::string reason, uint32_t code) {
  Message message;
  message.command = code;
  message.head = std::move(reason);
  answer(std::move(message), true);
}

void Responder::waits(std::string for_whom) {
  const auto core = core_.lock();
  if (core && *this) core->tell_waiting(peer_, sequence_, std::move(for_whom));
}

void Responder::answer(Message message, bool failed) {
  const NodeId peer = std::exchange(peer_, {});
  LOOMIX_CHECK(peer.incarnation != 0, StateError,
               "[comm] this request was answered before, or was a notice.");
  const auto core = core_.lock();
  if (!core) return;
  if (!failed) core->check_outgoing(message);
  auto answer = [core = core.get(), peer, sequence = sequence_, priority = priority_, failed,
                 message = std::make_unique<Message>(std::move(message))] {
    core->answer(peer, sequence, priority, std::move(*message), failed);
  };
  if (core->on_own_thread()) return answer();
  core->post(std::move(answer));
}

Endpoint::Endpoint(std::unique_ptr<Transport> transport, NodeId self, EndpointOptions options)
    : core_(std::make_shared<EndpointCore>(std::move(transport), self, std::move(options))) {
  core_->start();
}

Endpoint::~Endpoint() {
  if (core_->in_child()) {
    // The parent's sockets and locks are not ours to close: what is here stays until the process ends.
    static_cast<void>(std::make_unique<std::shared_ptr<EndpointCore>>(std::move(core_)).release());
    return;
  }
  core_->stop();
}

NodeId Endpoint::self() const { return core_->self(); }
const std::string& Endpoint::address() const { return core_->address; }
EndpointStats Endpoint::stats() const { return core_->stats(); }

void Endpoint::rename(NodeName name) {
  core_->post_and_wait([core = core_.get(), name] { core->rename(name); });
}

void Endpoint::connect(NodeName peer, std::string address) {
  core_->post([core = core_.get(), peer, address = std::move(address)]() mutable {
    core->connect(peer, std::move(address));
  });
}

void Endpoint::expect(NodeId peer) {
  core_->post([core = core_.get(), peer] { core->expect(peer); });
}

void Endpoint::forget(NodeName peer) {
  core_->post([core = core_.get(), peer] { core->forget(peer); });
}

void Endpoint::cut_off(NodeId peer, std::string why) {
  core_->post([core = core_.get(), peer, why = std::make_unique<std::string>(std::move(why))] {
    core->cut_off(peer, *why);
  });
}

uint64_t Endpoint::on_peer(std::function<void(const PeerEvent&)> callback) {
  const uint64_t id = core_->next_subscription();
  core_->post([core = core_.get(), id, callback = std::move(callback)]() mutable {
    core->subscribe(id, std::move(callback));
  });
  return id;
}

void Endpoint::off_peer(uint64_t subscription) {
  core_->post_and_wait([core = core_.get(), subscription] { core->unsubscribe(subscription); });
}

std::vector<PeerInfo> Endpoint::peers() const {
  std::vector<PeerInfo> all;
  core_->post_and_wait([core = core_.get(), &all] { all = core->peers(); });
  return all;
}

void Endpoint::run(const std::function<void()>& look) const {
  core_->post_and_wait([&look] { look(); });
}

void Endpoint::post(engine::InlineFunction<void(), 64> work) {
  core_->check_owner();
  core_->post(std::move(work));
}

void Endpoint::after(Duration delay, engine::InlineFunction<void(), 64> work) {
  core_->check_owner();
  auto start = [core = core_.get(), at = Clock::now() + delay,
                work = std::make_unique<EndpointCore::Command>(std::move(work))] {
    core->run_at(at, std::move(*work));
  };
  if (core_->on_own_thread()) return start();
  core_->post(std::move(start));
}

void Endpoint::serve(uint32_t channel, Handler handler, ChannelOptions options) {
  core_->post_and_wait([core = core_.get(), channel, &handler, &options] {
    core->serve(channel, std::move(handler), std::move(options));
  });
}

void Endpoint::stop_serving(uint32_t channel) {
  core_->post_and_wait([core = core_.get(), channel] { core->stop_serving(channel); });
}

uint64_t Endpoint::request(NodeName to, uint32_t channel, Message message, RequestOptions options,
                           OnReply on_reply) {
  core_->check_outgoing(message);
  auto request = std::make_unique<Outstanding>();
  request->transmission =
      EndpointCore::make_transmission(PacketKind::request, channel, std::move(message), options.priority);
  request->since = Clock::now();
  request->deadline = request->since + options.deadline;
  request->options = std::move(options);
  request->on_reply = std::move(on_reply);
  Transmission& transmission = *request->transmission;
  return core_->post_numbered(transmission, [core = core_.get(), to, request = std::move(request)] {
    core->request(to, std::move(*request));
  });
}

Message Endpoint::call(NodeName to, uint32_t channel, Message message, RequestOptions options) {
  LOOMIX_CHECK(!core_->on_own_thread(), StateError,
               "[comm] a handler or callback may not wait for {}; use request().", to.to_string());
  struct State {
    std::mutex mutex;
    std::condition_variable arrived;
    std::optional<Reply> reply;
  };
  const auto state = std::make_shared<State>();
  request(to, channel, std::move(message), std::move(options), [state](Reply&& reply) {
    const std::lock_guard lock(state->mutex);
    state->reply = std::move(reply);
    state->arrived.notify_one();
  });
  std::unique_lock lock(state->mutex);
  state->arrived.wait(lock, [&] { return state->reply.has_value(); });
  Reply reply = std::move(*state->reply);
  lock.unlock();
  if (reply.error) std::rethrow_exception(std::move(reply.error));
  return std::move(reply.message);
}

void Endpoint::notify(NodeName to, uint32_t channel, Message message, int priority) {
  core_->check_outgoing(message);
  auto transmission =
      EndpointCore::make_transmission(PacketKind::notice, channel, std::move(message), priority);
  Transmission& numbered = *transmission;
  core_->post_numbered(numbered, [core = core_.get(), to, transmission = std::move(transmission)]() mutable {
    core->notify(to, std::move(transmission));
  });
}

void Endpoint::cancel(uint64_t request) {
  core_->post([core = core_.get(), request] { core->cancel(request); });
}

}  // namespace loomix::comm
