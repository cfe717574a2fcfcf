// SPDX-License-Identifier: Apache-2.0
#include "comm/mpi/shared_windows.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <ctime>
#include <new>
#include <numeric>

namespace loomix::comm {
namespace {

constexpr size_t kSlotBytes = Parts::kMostBytes;  // lies in a second-level cache between the two copies
constexpr uint32_t kSlots = 16;
constexpr size_t kHeadBytes = 4096;

// Of memory that other processes share.
void futex(std::atomic<uint32_t>& word, int operation, uint32_t value, const timespec* at_most) noexcept {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, at_most, nullptr, 0);
}

}  // namespace

struct SharedWindows::Bell {
  std::atomic<uint32_t> rung;      // how often
  std::atomic<uint32_t> sleeping;  // its rank

  const std::byte* slot(uint32_t number) const {
    return reinterpret_cast<const std::byte*>(this) + kHeadBytes + number * kSlotBytes;
  }
};

SharedWindows::SharedWindows(MPI_Comm all, int tag, bool wanted) : all_(all), tag_(tag) {
  int size = 0;
  MPI_Comm_size(all, &size);
  MPI_Comm_rank(all, &rank_);
  windows_.resize(static_cast<size_t>(size));
  if (!wanted) return;
  if (MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &here_) != MPI_SUCCESS) return;
  int near = 0;
  MPI_Comm_size(here_, &near);
  if (near == 1) return;
  MPI_Comm_set_errhandler(here_, MPI_ERRORS_RETURN);
  void* base = nullptr;
  int good = MPI_Win_allocate_shared(static_cast<MPI_Aint>(kHeadBytes + kSlotBytes * kSlots), 1,
                                     MPI_INFO_NULL, here_, &base, &window_) == MPI_SUCCESS;
  int all_good = 0;
  MPI_Allreduce(&good, &all_good, 1, MPI_INT, MPI_MIN, here_);
  if (all_good == 0) return;  // there is no room; MPI carries all
  MPI_Win_lock_all(MPI_MODE_NOCHECK, window_);
  bell_ = new (base) Bell{};
  own_ = static_cast<std::byte*>(base) + kHeadBytes;
  MPI_Barrier(here_);  // before somebody rings
  MPI_Group group_here = MPI_GROUP_NULL, group_all = MPI_GROUP_NULL;
  MPI_Comm_group(here_, &group_here);
  MPI_Comm_group(all, &group_all);
  std::vector<int> places(static_cast<size_t>(near)), ranks(places.size());
  std::iota(places.begin(), places.end(), 0);
  MPI_Group_translate_ranks(group_here, near, places.data(), group_all, ranks.data());
  MPI_Group_free(&group_here);
  MPI_Group_free(&group_all);
  for (size_t i = 0; i < places.size(); ++i) {
    MPI_Aint bytes = 0;
    int unit = 0;
    void* there = nullptr;
    MPI_Win_shared_query(window_, places[i], &bytes, &unit, &there);
    windows_[static_cast<size_t>(ranks[i])] = static_cast<Bell*>(there);
  }
  free_.resize(kSlots);
  std::iota(free_.rbegin(), free_.rend(), 0U);
}

SharedWindows::~SharedWindows() {
  for (auto& [request, note] : told_) MPI_Request_free(&request), note.release();  // NOLINT: MPI may read it
  if (window_ != MPI_WIN_NULL) {
    MPI_Win_unlock_all(window_);
    MPI_Win_free(&window_);
  }
  if (here_ != MPI_COMM_NULL) MPI_Comm_free(&here_);
}

void SharedWindows::tell(int to, const Note& note) {
  auto kept = std::make_unique<Note>(note);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Isend(kept.get(), sizeof note, MPI_BYTE, to, tag_, all_, &request);
  told_.emplace_back(request, std::move(kept));
  ring(to);
}

void SharedWindows::send(int to, uint64_t number, std::span<const std::byte> body, Finished finished) {
  put({to, number}, {body, nullptr, std::move(finished)});
}
void SharedWindows::send_parts(int to, uint64_t number, PartsRef parts, Finished finished) {
  put({to, number}, {{}, std::move(parts), std::move(finished)});
}
void SharedWindows::put(const Name& name, Outward body) {
  outward_[name] = std::move(body);
  if (wanted_.erase(name) > 0) filling_.push_back(name);
}

void SharedWindows::receive(int from, uint64_t number, std::span<std::byte> place, Finished finished) {
  inward_[{from, number}] = {place, nullptr, std::move(finished)};
  tell(from, {Kind::wanted, 0, number, 0, place.size()});
}
void SharedWindows::receive_parts(int from, uint64_t number, PartsRef parts, Finished finished) {
  const size_t bytes = parts->bytes();
  inward_[{from, number}] = {{}, std::move(parts), std::move(finished)};
  tell(from, {Kind::wanted, 0, number, 0, bytes});
}

void SharedWindows::hear(int from, const Note& note) {
  const Name name{from, note.number};
  if (note.kind == Kind::wanted) {
    if (outward_.contains(name)) filling_.push_back(name);
    else wanted_.insert(name);
  } else if (note.kind == Kind::piece) {
    const auto found = inward_.find(name);
    if (found == inward_.end()) return;
    Inward& body = found->second;
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::byte* const slot = windows_[static_cast<size_t>(from)]->slot(note.slot);
    if (body.parts) body.parts->use(body.next++, slot);
    else std::memcpy(body.place.data() + note.at, slot, note.bytes);
    tell(from, {Kind::done, note.slot, note.number, note.at, note.bytes});
    body.come += note.bytes;
    if (body.come < body.bytes()) return;
    Finished finished = std::move(body.finished);
    inward_.erase(found);
    finished();
  } else {
    free_.push_back(note.slot);
    const auto found = outward_.find(name);
    if (found == outward_.end()) return;
    Outward& body = found->second;
    body.done += note.bytes;
    if (body.done < body.bytes()) return;
    Finished finished = std::move(body.finished);
    outward_.erase(found);
    finished();
  }
}

// A piece of each body in turn, so that a long one does not hold up others.
bool SharedWindows::fill_slots() {
  bool happened = false;
  while (!free_.empty() && !filling_.empty()) {
    const Name name = filling_.front();
    filling_.pop_front();
    Outward& body = outward_.at(name);
    const uint32_t slot = free_.back();
    free_.pop_back();
    std::byte* const place = own_ + slot * kSlotBytes;
    const size_t bytes =
        body.parts ? body.parts->sizes[body.next] : std::min(kSlotBytes, body.body.size() - body.put);
    if (body.parts) body.parts->fill(body.next++, place);
    else std::memcpy(place, body.body.data() + body.put, bytes);
    std::atomic_thread_fence(std::memory_order_release);
    tell(name.first, {Kind::piece, slot, name.second, body.put, bytes});
    body.put += bytes;
    if (body.put < body.bytes()) filling_.push_back(name);
    happened = true;
  }
  return happened;
}

void SharedWindows::ring(int rank) noexcept {
  Bell* const bell = windows_[static_cast<size_t>(rank)];
  if (bell == nullptr) return;
  bell->rung.fetch_add(1);
  if (bell->sleeping.load() != 0) futex(bell->rung, FUTEX_WAKE, 1, nullptr);
}

void SharedWindows::wait(std::chrono::microseconds at_most) {
  bell_->sleeping.store(1);
  if (bell_->rung.load() == heard_) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at_most);
    const timespec time{seconds.count(), std::chrono::nanoseconds(at_most - seconds).count()};
    futex(bell_->rung, FUTEX_WAIT, heard_, &time);
  }
  bell_->sleeping.store(0);
}

bool SharedWindows::poll() {
  if (bell_ != nullptr) heard_ = bell_->rung.load();
  bool happened = fill_slots();
  for (int there = 1; there != 0;) {
    MPI_Message message;
    MPI_Status status;
    if (MPI_Improbe(MPI_ANY_SOURCE, tag_, all_, &there, &message, &status) != MPI_SUCCESS || there == 0)
      break;
    Note note{};
    MPI_Mrecv(&note, sizeof note, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    hear(status.MPI_SOURCE, note);
    happened = fill_slots() || true;
  }
  while (!told_.empty()) {  // they end in order, about
    int over = 0;
    MPI_Test(&told_.front().first, &over, MPI_STATUS_IGNORE);
    if (over == 0) break;
    told_.pop_front();
  }
  return happened;
}

}  // namespace loomix::comm
