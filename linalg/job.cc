// SPDX-License-Identifier: Apache-2.0
#include "linalg/job.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>

#include <fmt/format.h>

#include "base/error.h"

namespace loomix::linalg {
namespace {

constexpr int64_t kMarkBytes = 8;
constexpr uint64_t kGood = 0x21646f6f67213a29ULL;
constexpr size_t kNoteBytes = 256;             // what a rank says about an operation: a key, a text,
constexpr size_t kSameBytes = kNoteBytes - 1;  // which are the same on all ranks, and bits that need not be

engine::TaskInfo message_task(const char* (*name)(const void*), int64_t bytes) {
  engine::TaskInfo info;
  info.lane = engine::Lane::communicate;
  info.may_inline = false;
  info.bytes = bytes;
  info.describe.name = name;
  return info;
}

std::byte* bytes_of(const Storage& storage) { return static_cast<std::byte*>(storage.data()); }

bool is_good(const Storage& storage, size_t bytes) {
  uint64_t mark = 0;
  std::memcpy(&mark, bytes_of(storage) + bytes - kMarkBytes, kMarkBytes);
  return mark == kGood;
}

}  // namespace

int Job::reserve_tags(int count) {
  const std::lock_guard lock(mutex_);
  if (next_tag_ > comm::ProcessGroup::kMostTag - count) next_tag_ = 0;
  return std::exchange(next_tag_, next_tag_ + count);
}

Message::Message(Job& job, int64_t bytes) {
  job.kept().make_room(job.engine(), bytes + kMarkBytes);
  whole_ = NDArray(job.engine(), Shape{bytes + kMarkBytes}, DType::uint8, Device::cpu());
}

Message Message::first(int64_t bytes) const {
  LOOMIX_INTERNAL_CHECK(bytes + kMarkBytes <= whole_.bytes());
  return Message(NDArray(whole_.storage_ref(), Shape{bytes + kMarkBytes}, DType::uint8));
}

void Message::push_mark() const {
  ArrayTags tags;
  tags.update(whole_);
  engine::TaskInfo info;
  info.priority = 2;  // before any product: it is short, and another rank waits for what it marks
  info.describe.name = [](const void*) { return "mark_good"; };
  whole_.engine().push(std::move(info), tags.tags(),
                       [whole = whole_](engine::RunContext&) { mark_good(whole); });
}

void Message::mark_good(const NDArray& whole) {
  std::memcpy(bytes_of(whole.storage()) + whole.bytes() - kMarkBytes, &kGood, kMarkBytes);
}

// What tasks and calls of an operation share.
struct Operation::State {
  State(JobRef of, std::string name, int first)
      : job(std::move(of)), what(std::move(name)), first_tag(first), agreed(job->engine().new_var()) {}

  // The answer of the others and the task that waits for it come in any order.
  void give_completion(engine::Completion ending) {
    const std::lock_guard lock(mutex);
    completion.emplace(std::move(ending));
    if (answered) finish();
  }
  void answer(std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    why = why ? named(why) : disagreement();
    failed = why != nullptr;
    error = std::move(why);
    answered = true;
    changed.notify_all();
    if (completion) finish();
  }
  void finish() {
    error ? completion->fail(error) : completion->done();
    completion.reset();
    notes = {};
  }
  // Behind the own note.
  const char* note(int rank) const { return notes.data() + static_cast<size_t>(rank + 1) * kNoteBytes; }
  // The group's errors know numbers of calls alone.
  std::exception_ptr named(const std::exception_ptr& why) const try {
    std::rethrow_exception(why);
  } catch (const NetworkError& error) {
    return std::make_exception_ptr(NetworkError(fmt::format("[parallel] in {} {}", what, error.what())));
  } catch (...) {
    return why;
  }
  std::exception_ptr error_of(int rank) const {
    return std::make_exception_ptr(
        StateError(fmt::format("[parallel] rank {} has an error in what it "
                               "sends in {}; the error there says which.",
                               rank, what)));
  }
  std::exception_ptr disagreement() const {
    std::string text;
    int kinds = 0;
    for (int rank = 0; rank < job->size(); ++rank) {
      if (rank > 0 && std::memcmp(note(rank), note(rank - 1), kSameBytes) == 0) continue;
      text +=
          fmt::format("{}from rank {} on {}", text.empty() ? "" : "; ", rank, note(rank) + sizeof(uint64_t));
      ++kinds;
    }
    if (kinds == 1) return nullptr;
    return std::make_exception_ptr(
        ValueError(fmt::format("[parallel] ranks do different things: {}; all must call the same, with the "
                               "same shapes, types and layouts.",
                               text)));
  }

  const JobRef job;
  const std::string what;
  const int first_tag;
  const engine::VarRef agreed;  // its writer fails if they do not
  std::atomic<bool> failed{false};
  std::condition_variable changed;  // to answered
  std::mutex mutex;                 // guards what follows
  std::vector<char> notes;          // the own one, then those of all ranks
  std::optional<engine::Completion> completion;
  std::exception_ptr error;
  bool answered = false;
};

Operation::Operation(const JobRef& job, std::string what, uint64_t key, int messages)
    : state_(std::make_shared<State>(job, std::move(what), job->reserve_tags(messages))) {
  if (job->size() == 1) return;
  tell(state_, key, 0);
  const engine::Tag tag{state_->agreed.get(), engine::Access::write};
  job->engine().push_async(message_task([](const void*) { return "agree"; }, 0), {&tag, 1},
                           [state = state_](engine::RunContext&, engine::Completion ending) {
                             state->give_completion(std::move(ending));
                           });
}

// Not in a task: so the answer is there, as a rule, before the data is.
void Operation::tell(const std::shared_ptr<State>& state, uint64_t key, uint8_t bits) {
  Job& job = *state->job;
  std::vector<char>& notes = state->notes;
  notes.resize(kNoteBytes * (static_cast<size_t>(job.size()) + 1));
  std::memcpy(notes.data(), &key, sizeof key);
  std::memcpy(notes.data() + sizeof key, state->what.data(),
              std::min(state->what.size(), kSameBytes - sizeof key - 1));
  notes[kSameBytes] = static_cast<char>(bits);
  job.group().all_gather(notes.data(), notes.data() + kNoteBytes, kNoteBytes,
                         [state](std::exception_ptr error) { state->answer(std::move(error)); });
}

uint8_t Operation::agree(const JobRef& job, std::string what, uint64_t key, uint8_t bits) {
  if (job->size() == 1) return bits;
  const auto state = std::make_shared<State>(job, std::move(what), 0);
  tell(state, key, bits);
  std::unique_lock lock(state->mutex);
  state->changed.wait(lock, [&] { return state->answered; });  // the group has a deadline
  if (state->error) std::rethrow_exception(state->error);
  for (int rank = 0; rank < job->size(); ++rank) bits &= static_cast<uint8_t>(state->note(rank)[kSameBytes]);
  return bits;
}

Job& Operation::job() const { return *state_->job; }

// The work of a task that sends. If the engine drops it, because there is an error in what it reads, it says that instead.
class Operation::Sending {
 public:
  Sending(std::shared_ptr<State> state, Ref<Storage> memory, int64_t bytes, int to, int number)
      : state_(std::move(state)),
        memory_(std::move(memory)),
        bytes_(static_cast<size_t>(bytes)),
        to_(to),
        tag_(state_->first_tag + number) {}
  Sending(Sending&&) noexcept = default;
  Sending& operator=(Sending&&) = delete;
  ~Sending() {
    if (state_ && !state_->failed) send_bad();
  }
  void operator()(engine::RunContext&, engine::Completion ending) {
    const auto state = std::move(state_);
    const std::byte* const data = bytes_of(*memory_);
    state->job->group().send(
        data, bytes_, to_, tag_,
        [state, memory = std::move(memory_), ending = std::move(ending)](std::exception_ptr error) mutable {
          error ? ending.fail(std::move(error)) : ending.done();
        });
  }

 private:
  void send_bad() noexcept try {
    const auto nothing = std::make_shared<std::vector<std::byte>>(bytes_);
    state_->job->group().send(nothing->data(), bytes_, to_, tag_,
                              [nothing, state = state_](std::exception_ptr) {});
  } catch (const std::exception&) {  // no memory: the other rank hears of this one's end
  }

  std::shared_ptr<State> state_;
  Ref<Storage> memory_;
  size_t bytes_;
  int to_, tag_;
};

void Operation::send(const Message& message, int to, int number, const Message* after) const {
  ArrayTags tags;
  tags.read(message.whole());
  if (after != nullptr) tags.read(after->whole());
  std::vector<engine::Tag> all(tags.tags().begin(), tags.tags().end());
  all.push_back({state_->agreed.get(), engine::Access::read});
  job().engine().push_async(
      message_task([](const void*) { return "send"; }, message.whole().bytes()), all,
      Sending(state_, message.whole().storage_ref(), message.whole().bytes(), to, number));
}

void Operation::receive(const Message& message, int from, int number) const {
  ArrayTags tags;
  tags.write(message.whole());
  std::vector<engine::Tag> all(tags.tags().begin(), tags.tags().end());
  all.push_back({state_->agreed.get(), engine::Access::read});
  job().engine().push_async(
      message_task([](const void*) { return "receive"; }, message.whole().bytes()), all,
      [state = state_, memory = message.whole().storage_ref(),
       bytes = static_cast<size_t>(message.whole().bytes()), from,
       tag = state_->first_tag + number](engine::RunContext&, engine::Completion ending) {
        std::byte* const data = bytes_of(*memory);
        state->job->group().receive(
            data, bytes, from, tag,
            [state, memory, bytes, from, ending = std::move(ending)](std::exception_ptr error) mutable {
              if (!error && !is_good(*memory, bytes)) error = state->error_of(from);
              error ? ending.fail(std::move(error)) : ending.done();
            });
      });
}

// As Sending is. A mark is behind the last part.
class Operation::SendingParts {
 public:
  SendingParts(std::shared_ptr<State> state, PartedMessage message)
      : state_(std::move(state)), message_(std::move(message)) {}
  SendingParts(SendingParts&&) noexcept = default;
  SendingParts& operator=(SendingParts&&) = delete;
  ~SendingParts() {
    if (state_ && !state_->failed) send_bad();
  }
  void operator()(engine::RunContext&, engine::Completion ending) {
    auto state = std::move(state_);
    start(
        *state,
        [fill = std::move(message_.parts.fill), last = message_.parts.sizes.size() - 1,
         bytes = message_.parts.sizes.back()](size_t part, std::byte* to) {
          fill(part, to);
          if (part == last) std::memcpy(to + bytes, &kGood, kMarkBytes);
        },
        [state, ending = std::move(ending)](std::exception_ptr error) mutable {
          state.reset();  // whoever waits for the task may end the job then
          error ? ending.fail(std::move(error)) : ending.done();
        });
  }

 private:
  void start(const State& state, std::function<void(size_t, std::byte*)> fill,
             comm::ProcessGroup::Done done) {
    auto marked = std::make_shared<comm::Parts>();
    marked->sizes = message_.parts.sizes;
    marked->sizes.back() += kMarkBytes;
    marked->fill = std::move(fill);
    state.job->group().send_parts(std::move(marked), message_.rank, state.first_tag, std::move(done));
  }
  void send_bad() noexcept try {
    start(
        *state_,
        [last = message_.parts.sizes.size() - 1, bytes = message_.parts.sizes.back()](size_t part,
                                                                                      std::byte* to) {
          if (part == last) std::memset(to + bytes, 0, kMarkBytes);
        },
        [state = state_](std::exception_ptr) {});
  } catch (const std::exception&) {  // no memory: the other rank hears of this one's end
  }

  std::shared_ptr<State> state_;
  PartedMessage message_;
};

void Operation::send_parts(const ArrayTags& tags, PartedMessage message) const {
  std::vector<engine::Tag> all(tags.tags().begin(), tags.tags().end());
  all.push_back({state_->agreed.get(), engine::Access::read});
  job().engine().push_async(message_task([](const void*) { return "send_parts"; }, 0), all,
                            SendingParts(state_, std::move(message)));
}

// What ends last ends the task.
struct Operation::Receiving {
  Receiving(engine::Completion ending, size_t count) : completion(std::move(ending)), left(count) {}
  void end_one(std::exception_ptr why) {
    const std::lock_guard lock(mutex);
    if (why && !error) error = std::move(why);
    if (--left > 0) return;
    error ? completion.fail(error) : completion.done();
  }

  std::mutex mutex;
  engine::Completion completion;
  size_t left;
  std::exception_ptr error;
};

void Operation::receive_parts(const ArrayTags& tags, std::vector<PartedMessage> messages) const {
  if (messages.empty()) return;
  std::vector<engine::Tag> all(tags.tags().begin(), tags.tags().end());
  all.push_back({state_->agreed.get(), engine::Access::read});
  job().engine().push_async(
      message_task([](const void*) { return "receive_parts"; }, 0), all,
      [state = state_, messages = std::move(messages)](engine::RunContext&,
                                                       engine::Completion ending) mutable {
        const auto receiving = std::make_shared<Receiving>(std::move(ending), messages.size());
        for (PartedMessage& message : messages) {
          const auto good = std::make_shared<bool>(false);  // written before the call ends
          auto marked = std::make_shared<comm::Parts>();
          marked->sizes = message.parts.sizes;
          marked->sizes.back() += kMarkBytes;
          marked->use = [use = std::move(message.parts.use), good, last = message.parts.sizes.size() - 1,
                         bytes = message.parts.sizes.back()](size_t part, const std::byte* from) {
            use(part, from);
            if (part == last) *good = std::memcmp(from + bytes, &kGood, kMarkBytes) == 0;
          };
          state->job->group().receive_parts(
              std::move(marked), message.rank, state->first_tag,
              [state, receiving, good, from = message.rank](std::exception_ptr error) mutable {
                if (!error && !*good) error = state->error_of(from);
                state.reset();  // as above
                receiving->end_one(std::move(error));
              });
        }
      });
}

}  // namespace loomix::linalg
