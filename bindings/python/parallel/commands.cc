// SPDX-License-Identifier: Apache-2.0
// What rank 0 tells the others while it drives them: messages in a group of their own, in order, each of which says its length first.
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>

#include "base/error.h"
#include "bindings/python/parallel/core.h"

namespace loomix::python {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 28;  // of a message

class Commands {
 public:
  Commands() {
    std::vector<int> all(static_cast<size_t>(job()->size()));
    std::iota(all.begin(), all.end(), 0);
    group_ = job()->group().subgroup(all);
  }

  // Returns at once; the error of an earlier one is thrown.
  void tell(std::string text) {
    LOOMIX_CHECK(text.size() <= kMostBytes, ValueError,
                 "[driver] a command of {} bytes; expected {} at most.", text.size(), kMostBytes);
    {
      const std::lock_guard lock(state_->mutex);
      if (state_->error) std::rethrow_exception(state_->error);
    }
    const auto message = std::make_shared<Message>(Message{text.size(), std::move(text)});
    group_->broadcast(&message->size, sizeof message->size, 0, ended(message));
    if (message->size > 0) group_->broadcast(message->text.data(), message->size, 0, ended(message));
  }

  // The next one; none if it has not come in this time, and then the next call has it.
  std::optional<std::string> listen(std::chrono::duration<double> at_most) {
    const auto until = std::chrono::steady_clock::now() + at_most;
    if (!coming_) {
      coming_ = std::make_shared<Message>();
      begin(&coming_->size, sizeof coming_->size);
    }
    for (;;) {
      std::unique_lock lock(state_->mutex);
      if (!state_->changed.wait_until(lock, until, [&] { return state_->over; })) return {};
      if (state_->error) std::rethrow_exception(state_->error);
      lock.unlock();
      if (coming_->text.size() == coming_->size) return std::move(std::exchange(coming_, nullptr)->text);
      LOOMIX_CHECK(coming_->size <= kMostBytes, ValueError,
                   "[driver] a command of {} bytes comes; expected {} at most.", coming_->size, kMostBytes);
      coming_->text.resize(coming_->size);
      begin(coming_->text.data(), coming_->size);
    }
  }

 private:
  struct Message {
    uint64_t size = 0;
    std::string text = {};
  };
  struct State {
    std::mutex mutex;  // guards the next two
    bool over = false;
    std::exception_ptr error;
    std::condition_variable changed;
  };

  // Keeps the message until it is there.
  comm::ProcessGroup::Done ended(std::shared_ptr<Message> message) {
    return [state = state_, message = std::move(message)](std::exception_ptr error) {
      const std::lock_guard lock(state->mutex);
      state->over = true;
      if (error) state->error = std::move(error);
      state->changed.notify_all();
    };
  }
  void begin(void* to, size_t bytes) {
    {
      const std::lock_guard lock(state_->mutex);
      state_->over = false;
    }
    group_->broadcast(to, bytes, 0, ended(coming_));
  }

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  std::unique_ptr<comm::ProcessGroup> group_;
  std::shared_ptr<Message> coming_;
};

// As the job's: never deleted.
Commands& commands() {
  static auto* const all = new Commands;  // NOLINT: see above
  return *all;
}

}  // namespace

void add_commands(py::module_& m) {
  m.def("tell", [](const py::bytes& message) { commands().tell(message); });
  m.def("listen", [](double seconds) -> py::object {
    std::optional<std::string> message;
    {
      Commands& all = commands();
      const py::gil_scoped_release release;
      message = all.listen(std::chrono::duration<double>(seconds));
    }
    if (!message) return py::none();
    return py::bytes(*message);
  });
}

}  // namespace loomix::python
