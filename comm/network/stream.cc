// SPDX-License-Identifier: Apache-2.0
#include "comm/network/stream.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>
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

using Sizes = std::array<uint32_t, 2>;  // of header and body

}  // namespace

Stream::Stream(LinkId to, File socket, bool was_dialled, std::optional<Seal> seal, size_t header_bytes,
               std::shared_ptr<Unfinished> unfinished)
    : link(to),
      dialled(was_dialled),
      socket_(std::move(socket)),
      seal_(std::move(seal)),
      header_bytes_(header_bytes),
      unfinished_(std::move(unfinished)) {}

bool Stream::large() const { return out_bytes_ >= kFlushFrom; }

bool Stream::hold(uint64_t bytes) {
  if (seal_) return true;
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
  if (seal_) append(seal_->sign(dialled, ++sent_, header, body));
}

bool Stream::flush() {
  blocked_ = false;
  while (!out_.empty()) {
    iovec parts[kMaxParts];
    msghdr message{};
    message.msg_iov = parts;
    size_t bytes = 0;
    for (const Buffer& part : out_) {
      if (message.msg_iovlen == kMaxParts) break;
      parts[message.msg_iovlen++] = {const_cast<std::byte*>(part.data()), part.size()};
      bytes += part.size();
    }
    const ssize_t result = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) {
      blocked_ = errno == EAGAIN;
      return blocked_;
    }
    const auto sent = static_cast<size_t>(result);
    out_bytes_ -= sent;
    for (size_t left = sent; left > 0;) {
      Buffer& first = out_.front();
      if (left < first.size()) {
        first = first.slice(left, first.size() - left);
        break;
      }
      left -= first.size();
      out_.pop_front();
    }
    if (sent < bytes) {
      blocked_ = true;
      return true;
    }
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
    msghdr message{};
    message.msg_iov = parts;
    message.msg_iovlen = count;
    const ssize_t result = ::recvmsg(socket_.get(), &message, MSG_DONTWAIT);
    if (result == 0) return Result::ended;
    if (result < 0 && errno == EINTR) continue;
    if (result < 0) return errno == EAGAIN ? Result::drained : Result::ended;
    const auto came = static_cast<size_t>(result);
    body_filled_ += std::min(came, of_body);
    end_ += came - std::min(came, of_body);
    if (body_ != Body::none && body_filled_ == body_bytes_) end_body(events);
    while (open && !broken_ && body_ == Body::none && next_record(codec, events)) {}
    if (!open) return Result::drained;
    if (broken_) return Result::broken;
    if (came < of_body + ahead && !ending) return Result::drained;
  }
  return Result::more;
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
  const size_t tag_bytes = seal_ ? Seal::kTagBytes : 0;
  if (header_bytes > header_bytes_ || body_bytes > kMaxBody || (header_bytes == 0 && body_bytes > 0)) {
    broken_ = true;
    return false;
  }
  const bool direct = body_bytes > kCopied;
  const size_t needed = sizeof(sizes) + header_bytes + (direct ? 0 : body_bytes + tag_bytes);
  if (there.size() < needed) {
    if (needed > kInput && !hold(needed)) broken_ = true;
    if (!broken_) reserve(needed);
    return false;
  }
  hold(0);
  begin_ += needed;
  const Bytes header = there.subspan(sizeof(sizes), header_bytes);
  packet_.body.clear();
  if (!direct) {
    if (body_bytes > 0)
      packet_.body.push_back(Buffer::copy_of(there.subspan(sizeof(sizes) + header_bytes, body_bytes)));
    broken_ = !fits(there.subspan(needed - tag_bytes, tag_bytes), header, packet_.body);
  }
  broken_ = broken_ || (header_bytes > 0 && !codec.decode(header, packet_.header));
  if (broken_) return false;
  if (direct) {
    if (seal_) header_.assign(reinterpret_cast<const char*>(header.data()), header.size());
    begin_body(body_bytes, events);
    return true;
  }
  heard = true;
  if (header_bytes > 0) events.on_packet(link, std::move(packet_));
  return true;
}

bool Stream::fits(Bytes tag, Bytes header, std::span<const Buffer> body) {
  if (!seal_) return true;
  Seal::Tag bytes;
  std::memcpy(bytes.data(), tag.data(), bytes.size());
  return seal_->fits(bytes, !dialled, ++received_, header, body);
}

void Stream::begin_body(uint64_t bytes, TransportEvents& events) {
  body_bytes_ = bytes;
  body_filled_ = 0;
  place_ = {};
  if (!seal_ && events.place(link, packet_.header, bytes, place_)) {
    body_ = Body::placed;
  } else {
    if (seal_) body_bytes_ += Seal::kTagBytes;
    broken_ = !hold(body_bytes_);
    if (broken_) return;
    bounce_ = Buffer::allocate(body_bytes_);
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
  const Buffer bounce = std::exchange(bounce_, {});
  hold(0);
  if (how == Body::kept) {
    const size_t size = body_bytes_ - (seal_ ? Seal::kTagBytes : 0);
    packet_.body.push_back(bounce.slice(0, size));
    broken_ = !fits(bounce.bytes().subspan(size), std::as_bytes(std::span(header_)), packet_.body);
  } else {
    place_.from = 0;
    if (how == Body::discarded || !events.place(link, packet_.header, body_bytes_, place_)) return;
    for (const std::span<std::byte> part : place_.parts) packet_.body.push_back(Buffer::borrow(part));
  }
  if (broken_) return;
  heard = true;
  events.on_packet(link, std::move(packet_));
}

}  // namespace loomix::comm
