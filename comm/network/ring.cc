// SPDX-License-Identifier: Apache-2.0
#include "comm/network/ring.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "base/error.h"

namespace loomix::comm {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kMostBytes = size_t{1} << 30;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
static_assert(2 * sizeof(RingState) <= kPage);

// Before each record.
struct RecordHead {
  uint32_t header_bytes;
  uint32_t body_bytes;
};

uint64_t padded(uint64_t bytes) { return (bytes + 7) & ~uint64_t{7}; }

}  // namespace

SharedRings SharedRings::create(size_t ring_bytes) {
  LOOMIX_CHECK(
      ring_bytes >= (size_t{64} << 10) && ring_bytes <= kMostBytes && (ring_bytes & (ring_bytes - 1)) == 0,
      ValueError, "[comm] a ring of {} bytes; expected a power of two from 65536 to {}.", ring_bytes,
      kMostBytes);
  SharedRings rings;
  rings.file_ = File(memfd_create("loomix", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const auto size = static_cast<off_t>(kPage + 2 * ring_bytes);
  if (!rings.file_ || ftruncate(rings.file_.get(), size) != 0 ||
      fcntl(rings.file_.get(), F_ADD_SEALS, kSeals) != 0 || !rings.map()) {
    throw NetworkError(
        fmt::format("[comm] no shared memory of {} bytes can be had: {}.", size, std::strerror(errno)));
  }
  new (rings.states_) RingState[2]();
  return rings;
}

bool SharedRings::open(File file, SharedRings& rings) {
  if ((fcntl(file.get(), F_GET_SEALS) & kSeals) != kSeals) return false;
  rings = SharedRings();
  rings.file_ = std::move(file);
  return rings.map();
}

bool SharedRings::map() {
  struct stat info;
  if (fstat(file_.get(), &info) != 0) return false;
  const auto size = static_cast<uint64_t>(info.st_size);
  if (size <= kPage || (size - kPage) % (2 * kPage) != 0 || size > kPage + 2 * kMostBytes) return false;
  ring_bytes_ = (size - kPage) / 2;
  if ((ring_bytes_ & (ring_bytes_ - 1)) != 0) return false;
  const int rights = PROT_READ | PROT_WRITE;
  void* const states = mmap(nullptr, kPage, rights, MAP_SHARED, file_.get(), 0);
  if (states == MAP_FAILED) return false;
  states_ = static_cast<RingState*>(states);
  for (size_t ring = 0; ring < 2; ++ring) {
    void* const both = mmap(nullptr, 2 * ring_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (both == MAP_FAILED) return false;
    bytes_[ring] = static_cast<std::byte*>(both);
    for (size_t copy = 0; copy < 2; ++copy) {
      if (mmap(bytes_[ring] + copy * ring_bytes_, ring_bytes_, rights, MAP_SHARED | MAP_FIXED, file_.get(),
               static_cast<off_t>(kPage + ring * ring_bytes_)) == MAP_FAILED) {
        return false;
      }
    }
  }
  return true;
}

SharedRings& SharedRings::operator=(SharedRings&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(ring_bytes_, other.ring_bytes_);
  std::swap(states_, other.states_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedRings::~SharedRings() {
  if (states_) munmap(states_, kPage);
  for (std::byte* ring : bytes_) {
    if (ring) munmap(ring, 2 * ring_bytes_);
  }
}

bool RingWriter::write(Bytes header, std::span<const Buffer> body) {
  RecordHead head{static_cast<uint32_t>(header.size()), 0};
  for (const Buffer& part : body) head.body_bytes += static_cast<uint32_t>(part.size());
  const uint64_t size = padded(sizeof(RecordHead) + header.size() + head.body_bytes);
  const auto full = [&] {
    const uint64_t used = tail_ - state_->head.load();
    return used > size_ || size > size_ - used;
  };
  if (full()) {
    state_->producer_waits.store(1);
    if (full()) return false;
    state_->producer_waits.store(0);
  }
  std::byte* to = bytes_ + (tail_ & (size_ - 1));
  std::memcpy(to, &head, sizeof(head));
  to += sizeof(head);
  std::memcpy(to, header.data(), header.size());
  to += header.size();
  for (const Buffer& part : body) {
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
  tail_ += size;
  state_->tail.store(tail_);
  return true;
}

bool RingWriter::reader_sleeps() {
  return state_->consumer_sleeps.load() != 0 && state_->consumer_sleeps.exchange(0) != 0;
}

RingReader::Result RingReader::next(Bytes& header, Bytes& body) {
  const uint64_t tail = state_->tail.load(std::memory_order_acquire);
  if (tail == head_) return Result::none;
  const uint64_t there = tail - head_;
  if (there > size_ || there < sizeof(RecordHead)) return Result::broken;
  const std::byte* at = bytes_ + (head_ & (size_ - 1));
  RecordHead head;
  std::memcpy(&head, at, sizeof(head));
  const uint64_t size = padded(sizeof(head) + uint64_t{head.header_bytes} + head.body_bytes);
  if (size > there) return Result::broken;
  header = {at + sizeof(head), head.header_bytes};
  body = {at + sizeof(head) + head.header_bytes, head.body_bytes};
  next_ = head_ + size;
  return Result::record;
}

bool RingReader::done() {
  head_ = next_;
  state_->head.store(head_);
  return state_->producer_waits.load() != 0 && state_->producer_waits.exchange(0) != 0;
}

}  // namespace loomix::comm
