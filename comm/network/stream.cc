// SPDX-License-Identifier: Apache-2.0
#include "comm/network/stream.h"

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace loomix::comm {
namespace {

constexpr size_t kCopied =
    size_t{8} << 10;  // smaller bodies are cheaper to copy than to leave where they are
constexpr size_t kFlushFrom = size_t{1} << 20;
constexpr size_t kArena = size_t{32} << 10;
constexpr size_t kInput = size_t{32} << 10;
constexpr size_t kAhead = size_t{4} << 10;  // read together with the end of a body: mostly the next header
constexpr size_t kMaxParts = 64;            // of one call of the system
constexpr int kReads = 16;                  // before others get their turn
constexpr size_t kFirstHeader = size_t{8} << 10;  // of a stranger, who says only who it is
constexpr std::string_view kTooMuch = "it and others sent too much without an end";
constexpr std::string_view kNoPacket = "it sent bytes that are no packet";

using Sizes = std::array<uint32_t, 2>;  // of header and body

}  // namespace

Stream::Stream(LinkId to, bool was_dialled, size_t header_bytes, std::shared_ptr<Unfinished> unfinished)
    : link(to), dialled(was_dialled), header_bytes_(header_bytes), unfinished_(std::move(unfinished)) {
  append(std::as_bytes(std::span(kGreeting)));
}

bool Stream::large() const { return out_bytes_ >= kFlushFrom; }

bool Stream::hold(uint64_t bytes) {
  unfinished_->bytes += bytes - held_;
  held_ = bytes;
  return bytes == 0 || unfinished_->bytes <= unfinished_->most;
}

void Stream::append(Bytes bytes) {
  while (!bytes.empty()) {
    if (arena_used_ == arena_.size()) {
      arena_ = Buffer::allocate(kArena);
      arena_used_ = 0;
    }
    const size_t some = std::min(bytes.size(), arena_.size() - arena_used_);
    std::byte* const at = arena_.writable() + arena_used_;
    std::memcpy(at, bytes.data(), some);
    if (!out_.empty() && out_.back().data() + out_.back().size() == at && arena_used_ > 0) {
      const size_t before = out_.back().size();
      out_.back() = arena_.slice(arena_used_ - before, before + some);
    } else {
      out_.push_back(arena_.slice(arena_used_, some));
    }
    arena_used_ += some;
    out_bytes_ += some;
    bytes = bytes.subspan(some);
  }
}

void Stream::put(Bytes header, std::span<const Buffer> body) {
  Sizes sizes = {static_cast<uint32_t>(header.size()), 0};
  for (const Buffer& part : body) sizes[1] += static_cast<uint32_t>(part.size());
  append(std::as_bytes(std::span(sizes)));
  append(header);
  for (const Buffer& part : body) {
    if (part.size() <= kCopied) {
      append(part.bytes());
    } else {
      out_.push_back(part);
      out_bytes_ += part.size();
    }
  }
}

bool Stream::flush() {
  blocked_ = false;
  while (pending()) {
    iovec parts[kMaxParts];
    size_t count = 0;
    for (const Buffer& part : out_) {
      if (count == kMaxParts) break;
      parts[count++] = {const_cast<std::byte*>(part.data()), part.size()};
    }
    const Wire::Moved moved = wire_->write({parts, count});
    out_bytes_ -= moved.bytes;
    for (size_t left = moved.bytes; left > 0;) {
      Buffer& first = out_.front();
      if (left < first.size()) {
        first = first.slice(left, first.size() - left);
        break;
      }
      left -= first.size();
      out_.pop_front();
    }
    if (moved.state == Wire::State::going) continue;
    blocked_ = moved.state == Wire::State::blocked;
    if (!blocked_) fault_ = wire_->fault();
    return blocked_;
  }
  arena_used_ = 0;
  return true;
}

// Room for so many bytes from begin_ on.
void Stream::reserve(size_t bytes) {
  if (begin_ == end_) begin_ = end_ = 0;
  const size_t there = end_ - begin_;
  const size_t wanted = std::max(bytes, kInput);
  if (wanted > capacity_ || (capacity_ > kInput && there == 0 && wanted < capacity_)) {
    std::unique_ptr<std::byte[]> larger(new std::byte[wanted]);
    if (there > 0) std::memcpy(larger.get(), in_.get() + begin_, there);
    in_ = std::move(larger);
    capacity_ = wanted;
  } else if (begin_ > 0 && capacity_ - begin_ < bytes) {
    std::memmove(in_.get(), in_.get() + begin_, there);
  } else {
    return;
  }
  begin_ = 0;
  end_ = there;
}

Stream::Result Stream::read(HeaderCodec& codec, TransportEvents& events) {
  for (int i = 0; i < kReads; ++i) {
    if (body_ == Body::none) {
      reserve(begin_ == end_ ? 0 : capacity_);
    } else if (body_ == Body::placed) {
      place_.from = body_filled_;
      if (!events.place(link, packet_.header, body_bytes_, place_)) body_ = Body::discarded;
    }
    iovec parts[kMaxParts + 1];
    size_t count = 0, of_body = 0;
    const size_t left = body_bytes_ - body_filled_;
    if (body_ == Body::placed) {
      for (const std::span<std::byte> part : place_.parts) {
        if (count == kMaxParts) break;
        parts[count++] = {part.data(), part.size()};
        of_body += part.size();
      }
    } else if (body_ == Body::kept) {
      parts[count++] = {bounce_.writable() + body_filled_, of_body = left};
    } else if (body_ == Body::discarded) {
      parts[count++] = {in_.get(), of_body = std::min(left, capacity_)};
    }
    size_t ahead = capacity_ - end_;
    if (body_ != Body::none) ahead = body_ == Body::discarded || of_body < left ? 0 : kAhead;
    if (ahead > 0) parts[count++] = {in_.get() + end_, ahead};
    const auto [came, state] = wire_->read({parts, count});
    if (state == Wire::State::ended) {
      fault_ = wire_->fault();
      return Result::ended;
    }
    if (came == 0) return Result::drained;
    body_filled_ += std::min(came, of_body);
    end_ += came - std::min(came, of_body);
    if (body_ != Body::none && body_filled_ == body_bytes_) end_body(events);
    while (open && !broken_ && body_ == Body::none && greeted() && next_record(codec, events)) {}
    if (!open) return Result::drained;
    if (broken_) return Result::broken;
    if (state == Wire::State::blocked && !ending) return Result::drained;
  }
  return Result::more;
}

bool Stream::break_off(std::string_view fault) {
  broken_ = true;
  fault_ = fault;
  return false;
}

// False: the greeting is not there yet, or is another one.
bool Stream::greeted() {
  if (greeted_) return true;
  constexpr std::string_view kTlsHello = "\x16\x03", kTlsAlert = "\x15\x03";
  const std::string_view there(reinterpret_cast<const char*>(in_.get()) + begin_,
                               std::min(end_ - begin_, kGreeting.size()));
  if (there != kGreeting.substr(0, there.size())) {
    return break_off(there.starts_with(kTlsHello)   ? "it has keys, and this node has none"
                     : there.starts_with(kTlsAlert) ? "it wants keys, and this node has none"
                                                    : "it is no peer, or one of another version of Loomix");
  }
  if (there.size() < kGreeting.size()) return false;
  begin_ += kGreeting.size();
  return greeted_ = true;
}

// False: it is not there yet, or breaks a rule.
bool Stream::next_record(HeaderCodec& codec, TransportEvents& events) {
  const Bytes there(in_.get() + begin_, end_ - begin_);
  Sizes sizes;
  if (there.size() < sizeof(sizes)) {
    reserve(sizeof(sizes));
    return false;
  }
  std::memcpy(&sizes, there.data(), sizeof(sizes));
  const auto [header_bytes, body_bytes] = sizes;
  const bool first_too_large = !heard && (header_bytes > kFirstHeader || body_bytes > 0);
  if (header_bytes == 0 || header_bytes > header_bytes_ || body_bytes > kMaxBody || first_too_large)
    return break_off(kNoPacket);
  const bool direct = body_bytes > kCopied;
  const size_t needed = sizeof(sizes) + header_bytes + (direct ? 0 : body_bytes);
  if (there.size() < needed) {
    if (needed > kInput && !hold(needed)) return break_off(kTooMuch);
    reserve(needed);
    return false;
  }
  hold(0);
  begin_ += needed;
  packet_.body.clear();
  if (!direct && body_bytes > 0)
    packet_.body.push_back(Buffer::copy_of(there.subspan(sizeof(sizes) + header_bytes, body_bytes)));
  if (!codec.decode(there.subspan(sizeof(sizes), header_bytes), packet_.header)) return break_off(kNoPacket);
  if (direct) {
    begin_body(body_bytes, events);
    return true;
  }
  heard = true;
  events.on_packet(link, std::move(packet_));
  return true;
}

void Stream::begin_body(uint64_t bytes, TransportEvents& events) {
  body_bytes_ = bytes;
  body_filled_ = 0;
  place_ = {};
  if (events.place(link, packet_.header, bytes, place_)) {
    body_ = Body::placed;
  } else {
    if (!hold(bytes)) {
      break_off(kTooMuch);
      return;
    }
    bounce_ = Buffer::allocate(bytes);
    body_ = Body::kept;
  }
  const size_t some = std::min(end_ - begin_, body_bytes_);
  if (some > 0) copy_to_body({in_.get() + begin_, some});
  begin_ += some;
  if (begin_ == end_) begin_ = end_ = 0;
  if (body_filled_ == body_bytes_) end_body(events);
}

void Stream::copy_to_body(Bytes bytes) {
  body_filled_ += bytes.size();
  if (body_ == Body::kept) {
    std::memcpy(bounce_.writable(), bytes.data(), bytes.size());
    return;
  }
  for (const std::span<std::byte> part : place_.parts) {
    const size_t some = std::min(bytes.size(), part.size());
    if (some > 0) std::memcpy(part.data(), bytes.data(), some);
    bytes = bytes.subspan(some);
  }
}

void Stream::end_body(TransportEvents& events) {
  const Body how = std::exchange(body_, Body::none);
  Buffer bounce = std::exchange(bounce_, {});
  hold(0);
  if (how == Body::kept) {
    packet_.body.push_back(std::move(bounce));
  } else {
    place_.from = 0;
    if (how == Body::discarded || !events.place(link, packet_.header, body_bytes_, place_)) return;
    for (const std::span<std::byte> part : place_.parts) packet_.body.push_back(Buffer::borrow(part));
  }
  events.on_packet(link, std::move(packet_));
}

}  // namespace loomix::comm
