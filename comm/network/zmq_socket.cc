// SPDX-License-Identifier: Apache-2.0
#include "comm/network/zmq_socket.h"

#include <cstring>

#include "base/error.h"

namespace loomix::comm {
namespace {

constexpr size_t kCopied = 512;  // frames up to this size are cheaper to copy than to share

}  // namespace

void throw_zmq_error(const std::string& what) {
  throw NetworkError(fmt::format("[comm] {}: {}.", what, zmq_strerror(zmq_errno())));
}

ZmqContext::ZmqContext() : context_(zmq_ctx_new()) {
  if (!context_) throw_zmq_error("no ZeroMQ context");
  zmq_ctx_set(context_, ZMQ_BLOCKY, 0);
}
ZmqContext::~ZmqContext() { zmq_ctx_term(context_); }

ZmqSocket::ZmqSocket(const ZmqContext& context, int type) : socket_(zmq_socket(context.get(), type)) {
  if (!socket_) throw_zmq_error("no ZeroMQ socket");
}
ZmqSocket::~ZmqSocket() {
  if (socket_) zmq_close(socket_);
}
void ZmqSocket::set(int option, int value) {
  if (zmq_setsockopt(socket_, option, &value, sizeof(value)) != 0) throw_zmq_error("a socket's option");
}
void ZmqSocket::set(int option, std::string_view value) {
  if (zmq_setsockopt(socket_, option, value.data(), value.size()) != 0) throw_zmq_error("a socket's option");
}
int ZmqSocket::file() const {
  int file = -1;
  size_t size = sizeof(file);
  zmq_getsockopt(socket_, ZMQ_FD, &file, &size);
  return file;
}

void ZmqSocket::set_up_router(int64_t max_frame) {
  zmq_setsockopt(socket_, ZMQ_MAXMSGSIZE, &max_frame, sizeof(max_frame));
  set(ZMQ_SNDHWM, 0);  // the endpoint's credit bounds what is on the way
  set(ZMQ_RCVHWM, 1000);
  set(ZMQ_ROUTER_MANDATORY, 1);
  set(ZMQ_LINGER, 200);
  set(ZMQ_HANDSHAKE_IVL, 5000);
  set(ZMQ_RECONNECT_IVL, 20);
  set(ZMQ_RECONNECT_IVL_MAX, 500);
  set(ZMQ_BACKLOG, 1024);
}

std::string ZmqSocket::bind(const std::string& endpoint) {
  if (zmq_bind(socket_, endpoint.c_str()) != 0) throw_zmq_error("cannot listen at " + endpoint);
  char bound[256];
  size_t size = sizeof(bound);
  zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, bound, &size);
  return bound;
}

ZmqSocket ZmqSocket::monitor(const ZmqContext& context, const char* name, bool accepted) {
  zmq_socket_monitor(socket_, name,
                     ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
                         ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
                         (accepted ? ZMQ_EVENT_ACCEPTED : 0));
  ZmqSocket events(context, ZMQ_PAIR);
  if (zmq_connect(events.get(), name) != 0) throw_zmq_error("no monitor of a socket");
  ZmqFrame().receive(events);  // a reader is told of news only after it has found nothing
  return events;
}

namespace {

Buffer keep(ZmqFrame& frame) {
  if (frame.size() <= kCopied) return Buffer::copy_of(frame.bytes());
  auto kept = std::make_unique<ZmqFrame>();
  zmq_msg_move(kept->get(), frame.get());
  const Bytes bytes = kept->bytes();
  return Buffer::borrow(bytes, [kept = std::move(kept)] {});
}

}  // namespace

bool receive_message(ZmqSocket& socket, size_t most, std::string& id, std::vector<Buffer>& frames,
                     int& file) {
  ZmqFrame name;
  if (!name.receive(socket)) return false;
  id = name.text();
  frames.clear();
  file = -1;
  bool whole = true;
  for (bool more = name.more(); more;) {
    ZmqFrame part;
    if (!part.receive(socket)) break;
    more = part.more();
    if (file < 0) file = zmq_msg_get(part.get(), ZMQ_SRCFD);
    whole = whole && frames.size() < most;
    if (whole) frames.push_back(keep(part));
  }
  if (!whole) frames.clear();
  return true;
}

bool receive_event(ZmqSocket& monitor, SocketEvent& event) {
  ZmqFrame what, where;
  if (!what.receive(monitor)) return false;
  where.receive(monitor);
  event = {};
  if (what.size() < sizeof(event.kind) + sizeof(event.value)) return true;
  std::memcpy(&event.kind, what.bytes().data(), sizeof(event.kind));
  std::memcpy(&event.value, what.bytes().data() + sizeof(event.kind), sizeof(event.value));
  event.endpoint = where.text();
  return true;
}

bool send_part(ZmqSocket& socket, Bytes bytes, bool more) {
  return zmq_send(socket.get(), bytes.data(), bytes.size(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0;
}

bool send_part(ZmqSocket& socket, const Buffer& part, bool more) {
  if (part.size() <= kCopied) return send_part(socket, part.bytes(), more);
  auto shared = std::make_unique<Buffer>(part);
  zmq_msg_t message;
  zmq_msg_init_data(
      &message, const_cast<std::byte*>(part.data()), part.size(),
      [](void*, void* hint) { std::unique_ptr<Buffer>(static_cast<Buffer*>(hint)).reset(); },
      shared.release());
  if (zmq_msg_send(&message, socket.get(), ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) >= 0) return true;
  zmq_msg_close(&message);
  return false;
}

}  // namespace loomix::comm
