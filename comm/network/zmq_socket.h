// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <zmq.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "comm/buffer.h"

// ZeroMQ's contexts, sockets and frames as values that clean up after themselves. Failures throw NetworkError.
namespace loomix::comm {

class ZmqContext {
 public:
  ZmqContext();
  ~ZmqContext();
  ZmqContext(const ZmqContext&) = delete;
  ZmqContext& operator=(const ZmqContext&) = delete;
  void* get() const { return context_; }

 private:
  void* context_;
};

class ZmqSocket {
 public:
  ZmqSocket() = default;
  ZmqSocket(const ZmqContext& context, int type);
  ZmqSocket(ZmqSocket&& other) noexcept : socket_(std::exchange(other.socket_, nullptr)) {}
  ZmqSocket& operator=(ZmqSocket&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~ZmqSocket();
  void* get() const { return socket_; }
  void set(int option, int value);
  void set(int option, std::string_view value);
  int file() const;
  // As both sides of a transport want a ROUTER.
  void set_up_router(int64_t max_frame);
  // Listens, and gives the endpoint with the port that it got.
  std::string bind(const std::string& endpoint);
  // A socket that tells of broken connections, failed handshakes and, if asked, of those accepted.
  ZmqSocket monitor(const ZmqContext& context, const char* name, bool accepted);

 private:
  void* socket_ = nullptr;
};

// A frame that is being received, or sent.
class ZmqFrame {
 public:
  ZmqFrame() { zmq_msg_init(&message_); }
  ~ZmqFrame() { zmq_msg_close(&message_); }
  ZmqFrame(const ZmqFrame&) = delete;
  ZmqFrame& operator=(const ZmqFrame&) = delete;
  zmq_msg_t* get() { return &message_; }
  bool receive(ZmqSocket& from) { return zmq_msg_recv(&message_, from.get(), ZMQ_DONTWAIT) >= 0; }
  bool more() const { return zmq_msg_more(&message_) != 0; }
  size_t size() const { return zmq_msg_size(&message_); }
  Bytes bytes() { return {static_cast<const std::byte*>(zmq_msg_data(&message_)), size()}; }
  std::string_view text() { return {static_cast<const char*>(zmq_msg_data(&message_)), size()}; }

 private:
  zmq_msg_t message_;
};

// The next message: the connection's name, its frames (none where there are more than `most`) and its file. False: there is none.
bool receive_message(ZmqSocket& socket, size_t most, std::string& id, std::vector<Buffer>& frames, int& file);

struct SocketEvent {
  uint16_t kind = 0;
  int32_t value = 0;  // mostly the connection's file
  std::string endpoint;
};
bool receive_event(ZmqSocket& monitor, SocketEvent& event);

bool send_part(ZmqSocket& socket, Bytes bytes, bool more);
bool send_part(ZmqSocket& socket, const Buffer& part, bool more);  // likewise

[[noreturn]] void throw_zmq_error(const std::string& what);

}  // namespace loomix::comm
