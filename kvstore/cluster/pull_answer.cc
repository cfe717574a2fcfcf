// SPDX-License-Identifier: Apache-2.0
#include "kvstore/cluster/pull_answer.h"

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "kvstore/cluster/batch.h"
#include "kvstore/cluster/packing.h"

namespace loomix::kvstore {
namespace {

// Of an array, by a message; it ends with the message, be it sent or not.
struct Reading {
  Reading(const NDArray& read, engine::Completion ending) : array(read), done(std::move(ending)) {}
  ~Reading() { done.done(); }
  const NDArray array;
  engine::Completion done;
};

engine::TaskInfo answer_task() {
  engine::TaskInfo info;
  info.lane = engine::Lane::communicate;
  info.describe.name = [](const void*) { return "kvstore_answer"; };
  return info;
}

// One of the two things that it waits for is there.
void step(PullAnswer& answer) {
  if (--answer.left == 0) answer.responder.reply(std::move(answer.message));
}

}  // namespace

PullAnswerRef answer_of(engine::Engine& engine, const NDArray& array) {
  auto answer = std::make_shared<PullAnswer>();
  ArrayTags tags;
  tags.read(array);
  engine.push_async(answer_task(), tags.tags(),
                    [array, answer](engine::RunContext&, engine::Completion done) mutable {
                      const auto reading = std::make_shared<Reading>(array, std::move(done));
                      const auto* const data = static_cast<const std::byte*>(array.view().data);
                      answer->message.payload.push_back(
                          comm::Buffer::borrow({data, static_cast<size_t>(array.bytes())}, [reading] {}));
                      step(*answer);
                    });
  return answer;
}

PullAnswerRef answer_of_all(engine::Engine& engine, comm::Message head, std::vector<NDArray> arrays,
                            size_t bytes) {
  auto answer = std::make_shared<PullAnswer>();
  answer->message = std::move(head);
  ArrayTags tags;
  for (const NDArray& array : arrays) tags.read(array);
  engine.push(answer_task(), tags.tags(), [answer, arrays = std::move(arrays), bytes](engine::RunContext&) {
    comm::Buffer all = comm::Buffer::allocate(bytes);
    size_t end = 0;
    for (const NDArray& array : arrays) {
      const auto size = static_cast<size_t>(array.bytes());
      std::fill(all.writable() + end, all.writable() + next_part(end), std::byte{0});
      std::copy_n(static_cast<const std::byte*>(array.view().data), size, all.writable() + next_part(end));
      end = next_part(end) + size;
    }
    if (end > 0) answer->message.payload = {std::move(all)};
    step(*answer);
  });
  return answer;
}

void send_when_there(const PullAnswerRef& answer, comm::Responder&& responder) {
  answer->responder = std::move(responder);
  step(*answer);
}

NDArray rows_of(Runtime& runtime, const Received<messages::Request>& request, const NDArray& value) {
  const messages::Pull& pull = request.what.pull();
  const std::vector<comm::Buffer>& payload = request.incoming.message.payload;
  const int64_t width = in_range("Pull.row", pull.row(), 1, value.size());
  LOOMIX_CHECK(payload.size() == 1 && value.size() % width == 0, NetworkError,
               "[KVStore] rows of {} elements were asked for; the shard has {} elements.", width,
               value.size());
  const comm::Buffer& ids = payload[0];
  const NDArray rows(value.engine(), Shape{static_cast<int64_t>(ids.size() / sizeof(int64_t)), width},
                     value.dtype(), Device::cpu());
  take_rows(Request(runtime, "kvstore_pull_rows", key_of_wire(pull.key()), 0), value, ids, rows);
  return rows;
}

}  // namespace loomix::kvstore
