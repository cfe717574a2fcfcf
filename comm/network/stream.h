// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "comm/network/codec.h"
#include "comm/network/wire.h"
#include "comm/transport.h"

namespace loomix::comm {

// Packets on a connection, one after the other, read and written by one thread that never waits for them. Each side begins
// with a greeting of 8 bytes; then come records:
//
//   bytes of header (4), of body (4) | header | body
//
// Small packets gather until flush(), so that one call of the system takes many; large bodies leave from where they are, and
// arrive where the endpoint wants them. The first record says who the other side is, and is small.
class Stream {
 public:
  static constexpr uint64_t kMaxBody = uint64_t{4} << 20;  // of one record; pieces are smaller
  static constexpr std::string_view kGreeting = "loomix 4";
  enum class Result : uint8_t { drained, more, ended, broken };  // the latter two with a fault()

  // Memory that packets without an end hold, of all streams.
  struct Unfinished {
    uint64_t bytes = 0;
    uint64_t most = uint64_t{128} << 20;
  };

  Stream(LinkId link, bool dialled, size_t header_bytes, std::shared_ptr<Unfinished> unfinished);
  ~Stream() { hold(0); }
  void use(std::unique_ptr<Wire> wire) { wire_ = std::move(wire); }

  Wire* wire() const { return wire_.get(); }  // null while the other side's name is being looked up
  int file() const { return wire_ ? wire_->file() : -1; }
  bool full() const { return blocked_; }  // until flush() got everything out
  void put(Bytes header, std::span<const Buffer> body);
  bool large() const;  // enough is there to flush at once
  bool pending() const { return !out_.empty() || wire_->pending(); }
  bool flush();  // as much as goes; false: the connection is broken
  // Tells some packets. Ends early where a callback closed it.
  Result read(HeaderCodec& codec, TransportEvents& events);
  const std::string& fault() const { return fault_; }

  enum class Phase : uint8_t { calling, securing, talking };
  const LinkId link;
  const bool dialled;
  Phase phase = Phase::calling;
  bool open = true;       // false: closed, will be gone soon
  bool heard = false;     // records come
  bool ending = false;    // the other side sends no more than is there
  bool readable = false;  // there may be something
  bool dirty = false;     // likewise to flush
  bool waiting = false;   // the endpoint was told that it is full
  TimePoint since = Clock::now();

 private:
  enum class Body : uint8_t { none, placed, kept, discarded };

  void append(Bytes bytes);
  bool hold(uint64_t bytes);  // false: that is too much
  void reserve(size_t bytes);
  bool greeted();
  bool next_record(HeaderCodec& codec, TransportEvents& events);
  void begin_body(uint64_t bytes, TransportEvents& events);
  void copy_to_body(Bytes bytes);
  void end_body(TransportEvents& events);
  bool break_off(std::string_view fault);

  std::unique_ptr<Wire> wire_;
  const size_t header_bytes_;
  const std::shared_ptr<Unfinished> unfinished_;
  uint64_t held_ = 0;

  std::deque<Buffer> out_;
  size_t out_bytes_ = 0;
  Buffer arena_;  // small bytes on their way out
  size_t arena_used_ = 0;
  bool blocked_ = false;

  std::unique_ptr<std::byte[]>
      in_;  // bytes from begin_ to end_ came and were not looked at; none while a body comes
  size_t capacity_ = 0, begin_ = 0, end_ = 0;
  bool greeted_ = false;
  bool broken_ = false;
  std::string fault_;

  Body body_ = Body::none;  // that is coming, and where it goes
  uint64_t body_bytes_ = 0, body_filled_ = 0;
  Packet packet_;
  BodyPlace place_;
  Buffer bounce_;
};

}  // namespace loomix::comm
