// SPDX-License-Identifier: Apache-2.0
#include "bindings/c/api/iterators.h"
#include "bindings/c/api/objects.h"
#include "bindings/c/guard.h"
#include "io/iter/csv_iter.h"
#include "io/iter/image_det_record_iter.h"
#include "io/iter/image_record_iter.h"
#include "io/iter/mnist_iter.h"

namespace loomix::c {
namespace {

struct Batch {
  NDArray data, label;
  int64_t pad = 0;
  std::vector<uint64_t> index;
};

class Iterator {
 public:
  virtual ~Iterator() = default;
  virtual bool next() = 0;
  virtual void reset() = 0;
  virtual Batch batch() const = 0;
};

// A class of io/ with next, reset, data, label, pad and index.
template <class Source>
class IteratorOf final : public Iterator {
 public:
  explicit IteratorOf(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  bool next() override { return source_->next(); }
  void reset() override { source_->reset(); }
  Batch batch() const override {
    return {source_->data(), source_->label(), source_->pad(), source_->index()};
  }

 private:
  const std::unique_ptr<Source> source_;
};

struct Kind {
  const char* name;
  std::unique_ptr<Iterator> (*make)(engine::Engine& engine, const TextPairs& parameters);
};

template <class P, auto make>
constexpr Kind kind(const char* name) {
  return {name, [](engine::Engine& engine, const TextPairs& parameters) -> std::unique_ptr<Iterator> {
            const Ref<const AttrsBase> attrs = param_schema<P>().parse("iterator", parameters);
            auto source = make(engine, attrs->as<P>());
            using Source = typename decltype(source)::element_type;
            return std::make_unique<IteratorOf<Source>>(std::move(source));
          }};
}

constexpr Kind kKinds[] = {
    kind<io::CsvParams, io::make_csv_iter>("CSVIter"),
    kind<io::ImageDetRecordParams, io::make_image_det_record_iter>("ImageDetRecordIter"),
    kind<io::ImageRecordParams, io::make_image_record_iter>("ImageRecordIter"),
    kind<io::MnistParams, io::make_mnist_iter>("MNISTIter")};

const Kind& find_kind(std::string_view name) {
  std::string known;
  for (const Kind& one : kKinds) {
    if (name == one.name) return one;
    known += (known.empty() ? "" : ", ") + std::string(one.name);
  }
  detail::throw_error<KeyError>("[LoomixIteratorCreate] there is no iterator '{}'; there are {}.", name,
                                known);
}

struct IteratorObject final : Object {
  static constexpr const char* kKind = "an iterator";
  explicit IteratorObject(std::unique_ptr<Iterator> made) : iterator(std::move(made)) {}
  const char* kind() const override { return kKind; }
  const std::unique_ptr<Iterator> iterator;
  std::mutex mutex;
  bool has_batch = false;
};

}  // namespace

std::vector<std::string> iterator_names() {
  std::vector<std::string> names;
  for (const Kind& one : kKinds) names.emplace_back(one.name);
  return names;
}

}  // namespace loomix::c

using namespace loomix;     // NOLINT: the functions below are outside of all namespaces
using namespace loomix::c;  // NOLINT

int LoomixIteratorCreate(const char* name, const LoomixPairs* parameters, LoomixIterator* out) {
  return guarded([&] {
    constexpr const char* kWho = "LoomixIteratorCreate";
    not_null(out, kWho, "out");
    const Kind& wanted = find_kind(not_null(name, kWho, "name"));
    auto made = wanted.make(running().engine(), to_pairs(parameters, kWho));
    *out = static_cast<LoomixIterator>(add_object(std::make_shared<IteratorObject>(std::move(made))));
  });
}

int LoomixIteratorNext(LoomixIterator iterator, int* more) {
  return guarded([&] {
    not_null(more, "LoomixIteratorNext", "more");
    const auto object = find<IteratorObject>(iterator);
    const std::lock_guard lock(object->mutex);
    object->has_batch = false;
    object->has_batch = object->iterator->next();
    *more = object->has_batch;
  });
}

int LoomixIteratorReset(LoomixIterator iterator) {
  return guarded([&] {
    const auto object = find<IteratorObject>(iterator);
    const std::lock_guard lock(object->mutex);
    object->has_batch = false;
    object->iterator->reset();
  });
}

int LoomixIteratorGetBatch(LoomixIterator iterator, LoomixBatch* out) {
  return guarded([&] {
    not_null(out, "LoomixIteratorGetBatch", "out");
    const auto object = find<IteratorObject>(iterator);
    const std::lock_guard lock(object->mutex);
    LOOMIX_CHECK(object->has_batch, StateError,
                 "[LoomixIteratorGetBatch] there is no batch; the last LoomixIteratorNext did not give one.");
    Batch batch = object->iterator->batch();
    answer().index = std::move(batch.index);
    const LoomixArray data = add_array(std::move(batch.data));
    *out = {data, add_array(std::move(batch.label)), batch.pad, answer().index.size(), answer().index.data()};
  });
}
