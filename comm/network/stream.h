// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "comm/network/codec.h"
#include "comm/network/file.h"
#include "comm/network/seal.h"
#include "comm/transport.h"

namespace loomix::comm {

// Packets on a tcp connection, one after the other, read and written by one thread that never waits for them:
//
//   bytes of header (4), of body (4) | header | body | checksum (16), where there is a seal
//
// Small packets gather until flush(), so that one call of the system takes many; large bodies leave from where they are, and
// arrive where the endpoint wants them. A record without header only says that the other side is there. With a seal, each
// record's checksum covers its number (not sent: tcp keeps the order), and nobody sees a body before it fits.
class Stream {
 public:
  static constexpr uint64_t kMaxBody = uint64_t{4} << 20;  // of one record; pieces are smaller
  enum class Result : uint8_t { drained, more, ended, broken };

  // Memory that packets without an end hold, of all streams without a seal; who has keys is trusted with some.
  struct Unfinished {
    uint64_t bytes = 0;
    uint64_t most = uint64_t{128} << 20;
  };

  Stream(LinkId link, File socket, bool dialled, std::optional<Seal> seal, size_t header_bytes,
         std::shared_ptr<Unfinished> unfinished);
  ~Stream() { hold(0); }

  int file() const { return socket_.get(); }
  bool full() const { return blocked_; }  // until flush() got everything out
  void put(Bytes header, std::span<const Buffer> body);
  void put_raw(Bytes bytes) { append(bytes); }
  bool large() const;  // enough is there to flush at once
  bool pending() const { return !out_.empty(); }
  bool flush();  // as much as goes; false: the connection is broken
  // Tells some packets. Ends early where a callback closed it.
  Result read(HeaderCodec& codec, TransportEvents& events);

  const LinkId link;
  const bool dialled;
  bool open = true;        // false: closed, will be gone soon
  bool connected = false;  // of a dialled one
  bool heard = false;      // records come
  bool ending = false;     // the other side sends no more than is there
  bool readable = false;   // there may be something
  bool dirty = false;      // likewise to flush
  bool waiting = false;    // the endpoint was told that it is full
  TimePoint since = Clock::now();

 private:
  enum class Body : uint8_t { none, placed, kept, discarded };

  void append(Bytes bytes);
  bool hold(uint64_t bytes);  // false: that is too much
  void reserve(size_t bytes);
  bool next_record(HeaderCodec& codec, TransportEvents& events);
  void begin_body(uint64_t bytes, TransportEvents& events);
  void copy_to_body(Bytes bytes);
  void end_body(TransportEvents& events);
  bool fits(Bytes tag, Bytes header, std::span<const Buffer> body);

  const File socket_;
  std::optional<Seal> seal_;
  const size_t header_bytes_;
  const std::shared_ptr<Unfinished> unfinished_;
  uint64_t held_ = 0;

  std::deque<Buffer> out_;
  size_t out_bytes_ = 0;
  Buffer arena_;  // small bytes on their way out
  size_t arena_used_ = 0;
  bool blocked_ = false;
  uint64_t sent_ = 0, received_ = 0;  // records

  std::unique_ptr<std::byte[]>
      in_;  // bytes from begin_ to end_ came and were not looked at; none while a body comes
  size_t capacity_ = 0, begin_ = 0, end_ = 0;
  bool broken_ = false;

  Body body_ = Body::none;  // that is coming, and where it goes
  uint64_t body_bytes_ = 0, body_filled_ = 0;
  Packet packet_;
  std::string header_;  // as it came, for the checksum
  BodyPlace place_;
  Buffer bounce_;
};

}  // namespace loomix::comm
