// SPDX-License-Identifier: Apache-2.0
#include "kvstore/buckets.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "ndarray/copy.h"
#include "symbol/executor/op_call.h"

namespace loomix::kvstore {
namespace {

// An operator on the lane of communication.
class CallTask final : public StoreTask {
 public:
  CallTask(const Request& request, Ref<OpCall> call) : StoreTask(request), call_(std::move(call)) {}
  void run(engine::RunContext& context) const override { call_->run(context, {}); }

 private:
  const Ref<OpCall> call_;
};

void push_call(Runtime& runtime, const Request& request, std::string_view name, const TextPairs& attrs,
               std::span<const NDArray> in, std::span<const NDArray> out) {
  const ops::OpDef& op = runtime.table().at(name);
  ArrayTags tags;
  std::vector<const NDArray*> inputs;
  for (const NDArray& array : in) {
    inputs.push_back(&array);
    tags.read(array);
  }
  int64_t bytes = 0;
  for (const NDArray& array : out) {
    tags.write(array);
    bytes += array.bytes();
  }
  if (request.order) tags.use(request.order->of(out[0].device()));
  const std::vector<ops::Req> requests(out.size(), ops::Req::write);
  const Ref<const AttrsBase> parsed = runtime.table().parse(op, attrs);
  Ref<OpCall> call = OpCall::make(runtime, {.op = op,
                                            .attrs = parsed,
                                            .in = inputs,
                                            .out = out,
                                            .saved = {},
                                            .req = requests,
                                            .device = out[0].device()});
  push_task(make_ref<CallTask>(request, std::move(call)), tags, out[0], bytes, 1);
}

NDArray flat(const NDArray& array) { return array.reshape(Shape{array.size()}); }

std::vector<NDArray> flat(std::span<const NDArray> arrays) {
  std::vector<NDArray> all;
  for (const NDArray& array : arrays) all.push_back(flat(array));
  return all;
}

bool on_gpu(const NDArray& array) {
  return !array.is_none() && array.is_dense() && array.device().type == DeviceType::gpu && array.size() > 0;
}

// Whether all are there, of one shape and type, on GPUs of which none has two; and outputs, likewise, on some of the same GPUs.
bool may_join(const KeyValues& entry, size_t least_devices) {
  if (entry.values.size() < least_devices || entry.values.empty() || entry.outs.empty()) return false;
  const NDArray& first = entry.values[0];
  const auto fits = [&](const NDArray& array) {
    return on_gpu(array) && array.shape() == first.shape() && array.dtype() == first.dtype();
  };
  const auto on = [](std::span<const NDArray> arrays, Device device) {
    return std::ranges::count(arrays, device, &NDArray::device);
  };
  return std::ranges::all_of(entry.values, fits) && std::ranges::all_of(entry.outs, fits) &&
         std::ranges::all_of(entry.values,
                             [&](const NDArray& array) { return on(entry.values, array.device()) == 1; }) &&
         std::ranges::all_of(entry.outs, [&](const NDArray& array) {
           return on(entry.outs, array.device()) == 1 && on(entry.values, array.device()) == 1;
         });
}

bool go_together(const KeyValues& a, const KeyValues& b) {
  return a.values[0].dtype() == b.values[0].dtype() &&
         std::ranges::equal(a.values, b.values, {}, &NDArray::device, &NDArray::device) &&
         std::ranges::equal(a.outs, b.outs, {}, &NDArray::device, &NDArray::device);
}

std::vector<NDArray> outs_of(Bucket bucket, size_t device) {
  std::vector<NDArray> outs;
  for (const KeyValues* const entry : bucket) outs.push_back(entry->outs[device]);
  return outs;
}

// How many elements the values of all entries have on one device.
int64_t size_of(Bucket bucket) {
  int64_t size = 0;
  for (const KeyValues* const entry : bucket) size += entry->values[0].size();
  return size;
}

// Pushes work on one GPU: the arrays = the parts of `joined`.
void part(Runtime& runtime, const Request& request, const NDArray& joined, std::span<const NDArray> arrays) {
  std::string begins;
  int64_t begin = 0;
  for (const NDArray& array : arrays) {
    begins += (begins.empty() ? "" : ",") + std::to_string(begin);
    begin += array.size();
  }
  push_call(runtime, request, "_split_v2", {{"indices", "(" + begins + ",)"}, {"axis", "0"}}, {&joined, 1},
            flat(arrays));
}

}  // namespace

std::vector<std::vector<const KeyValues*>> make_buckets(std::span<const KeyValues> entries,
                                                        int64_t most_bytes, size_t least_devices) {
  std::vector<std::vector<const KeyValues*>> buckets;
  int64_t bytes = 0;
  bool is_open = false;
  for (size_t i = entries.size(); i-- > 0;) {
    const KeyValues& entry = entries[i];
    const bool joins = may_join(entry, least_devices);
    const int64_t more = joins ? entry.values[0].bytes() : 0;
    const bool goes_on =
        is_open && joins && bytes + more <= most_bytes && go_together(entry, *buckets.back().back());
    if (!goes_on) {
      buckets.emplace_back();
      bytes = 0;
    }
    buckets.back().push_back(&entry);
    bytes += more;
    is_open = joins;
  }
  return buckets;
}

const NDArray& sized(Runtime& runtime, NDArray& array, int64_t size, DType dtype, Device device) {
  if (array.is_none() || array.size() != size || array.dtype() != dtype || array.device() != device)
    array = NDArray(runtime.engine(), Shape{size}, dtype, device);
  return array;
}

Joined& BucketMemory::of(Bucket bucket) {
  std::vector<Key> keys;
  for (const KeyValues* const entry : bucket) keys.push_back(entry->key);
  const std::lock_guard lock(mutex_);
  Joined& memory = joined_[keys[0]];
  if (memory.keys != keys) {
    memory = {};
    memory.keys = std::move(keys);
  }
  return memory;
}

Key name_of(Bucket bucket) {
  if (bucket.size() == 1) return bucket[0]->key;
  return fmt::format("{} and {} more", to_text(bucket[0]->key), bucket.size() - 1);
}

void join(Runtime& runtime, const Request& request, Bucket bucket, std::vector<NDArray>& sent) {
  const KeyValues& first = *bucket[0];
  sent.resize(first.values.size());
  for (size_t i = 0; i < sent.size(); ++i) {
    std::vector<NDArray> values;
    for (const KeyValues* const entry : bucket) values.push_back(flat(entry->values[i]));
    const NDArray& joined =
        sized(runtime, sent[i], size_of(bucket), first.values[i].dtype(), first.values[i].device());
    push_call(runtime, request, "Concat", {{"num_args", std::to_string(values.size())}, {"dim", "0"}}, values,
              {&joined, 1});
  }
}

void add(Runtime& runtime, const Request& request, std::span<const NDArray> arrays, const NDArray& sum) {
  push_call(runtime, request, runtime.table().core().add_many->name,
            {{"num_args", std::to_string(arrays.size())}}, arrays, {&sum, 1});
}

std::vector<NDArray> views_of(const NDArray& joined, Bucket bucket) {
  std::vector<NDArray> views;
  int64_t begin = 0;
  for (const KeyValues* const entry : bucket) {
    const Shape& shape = entry->values[0].shape();
    views.push_back(joined.slice(begin, begin + shape.size()).reshape(shape));
    begin += shape.size();
  }
  return views;
}

bool is_at(const NDArray& array, const NDArray& place) {
  return array.storage_ref() == place.storage_ref() && array.offset() == place.offset();
}

void update_parts(const Updater& update, Bucket bucket, const NDArray& sum, const NDArray& stored) {
  const std::vector<NDArray> merged = views_of(sum, bucket);
  const std::vector<NDArray> places = views_of(stored, bucket);
  for (size_t k = 0; k < bucket.size(); ++k)
    update(bucket[k]->key, merged[k], places[k], bucket[k]->priority);
}

void part(Runtime& runtime, const Request& request, const NDArray& joined, Bucket bucket) {
  const std::vector<NDArray>& outs = bucket[0]->outs;
  const auto near = std::ranges::find(outs, joined.device(), &NDArray::device);
  if (near != outs.end())
    part(runtime, request, joined, outs_of(bucket, static_cast<size_t>(near - outs.begin())));
}

void spread(Runtime& runtime, const Request& request, const NDArray& joined, Bucket bucket,
            std::vector<NDArray>& landing) {
  landing.resize(bucket[0]->outs.size());
  const engine::PushPriority scope(runtime.engine(), request.priority);
  for (size_t k = 0; k < landing.size(); ++k) {
    const std::vector<NDArray> outs = outs_of(bucket, k);
    const Device device = outs[0].device();
    if (device == joined.device()) {
      part(runtime, request, joined, outs);
      continue;
    }
    const NDArray& there = sized(runtime, landing[k], joined.size(), joined.dtype(), device);
    copy(joined, there);
    part(runtime, request, there, outs);
  }
}

}  // namespace loomix::kvstore
