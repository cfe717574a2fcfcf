// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "comm/group/links.h"

// Bodies between ranks of one machine, by memory that MPI shares between them: a copy in and a copy out, a piece at a time. MPI's own
// way is one copy by the kernel, which looks at each page; that takes longer than two copies do.
//
// Each rank has a window of slots, which others read. A receiver says that it has a place (`wanted`); the sender fills free slots and
// says which (`piece`); the receiver copies them and gives them back (`done`). So a body takes slots only when somebody empties them,
// and bodies that nobody wants yet hold up no others. Of a body in parts each part is a piece: it is made in a slot and used from there,
// so it is copied twice in all. What is said are short messages of MPI's.
//
// MPI wakes nobody. So each window has a bell, which others ring when they have sent something, and on which its rank sleeps: who sleeps
// is run sooner by the system than who yields, where threads are more than processors.
namespace loomix::comm {

class SharedWindows {
 public:
  using Finished = GroupLinks::Finished;
  static constexpr size_t kLeastBody = size_t{32} << 10;  // shorter ones are MPI's

  // All ranks of the communicator call it, alike. Messages have `tag` there. If not wanted, it reaches nobody.
  SharedWindows(MPI_Comm all, int tag, bool wanted);
  ~SharedWindows();  // likewise
  SharedWindows(const SharedWindows&) = delete;
  SharedWindows& operator=(const SharedWindows&) = delete;

  bool reaches(int rank) const { return rank != rank_ && windows_[static_cast<size_t>(rank)] != nullptr; }
  void send(int to, uint64_t number, std::span<const std::byte> body, Finished finished);
  void receive(int from, uint64_t number, std::span<std::byte> place, Finished finished);
  void send_parts(int to, uint64_t number, PartsRef parts, Finished finished);
  void receive_parts(int from, uint64_t number, PartsRef parts, Finished finished);
  bool poll();  // whether anything has happened
  // Until somebody rings after the last poll() has begun.
  void ring(int rank) noexcept;  // of this machine, or it does nothing; from any thread
  bool has_bell() const { return bell_ != nullptr; }
  void wait(std::chrono::microseconds at_most);

 private:
  enum class Kind : uint32_t { wanted, piece, done };
  struct Note {
    Kind kind;
    uint32_t slot;
    uint64_t number, at, bytes;
  };
  using Name = std::pair<int, uint64_t>;  // the other rank, number
  struct Bell;                            // at the beginning of a window
  struct Outward {
    std::span<const std::byte> body;
    PartsRef parts;  // instead; then what follows counts bytes of these, and parts
    Finished finished;
    size_t put = 0, done = 0, next = 0;
    size_t bytes() const { return parts ? parts->bytes() : body.size(); }
  };
  struct Inward {
    std::span<std::byte> place;
    PartsRef parts;
    Finished finished;
    size_t come = 0, next = 0;
    size_t bytes() const { return parts ? parts->bytes() : place.size(); }
  };
  void put(const Name& name, Outward body);
  void tell(int to, const Note& note);
  void hear(int from, const Note& note);
  bool fill_slots();

  const MPI_Comm all_;
  const int tag_;
  int rank_ = 0;
  MPI_Comm here_ = MPI_COMM_NULL;  // the ranks of this machine
  MPI_Win window_ = MPI_WIN_NULL;
  Bell* bell_ = nullptr;        // the own one
  uint32_t heard_ = 0;          // how often it had rung when the last poll() began
  std::byte* own_ = nullptr;    // the slots
  std::vector<Bell*> windows_;  // by rank; null: on another machine
  std::vector<uint32_t> free_;  // slots
  std::map<Name, Outward> outward_;
  std::map<Name, Inward> inward_;
  std::set<Name> wanted_;     // before there was a body
  std::deque<Name> filling_;  // bodies that are wanted, and not in slots yet
  std::deque<std::pair<MPI_Request, std::unique_ptr<Note>>> told_;
};

}  // namespace loomix::comm
