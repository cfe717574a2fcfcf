// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "loomix/nn/array.h"

// Where batches come from. loader.h has loaders over classes of one's own, with threads.
namespace loomix::nn {

struct Batch {
  Array data, label;
  int64_t padding = 0;  // samples at the end that only fill it up
  int64_t size() const { return data.shape(0) - padding; }
};

// Passes over batches.
class Loader {
 public:
  virtual ~Loader() = default;
  virtual bool next(Batch& batch) = 0;  // false at the end of the pass
  virtual void reset() = 0;             // begins the next pass
  // How many samples a batch has, from the beginning of the next pass on.
  [[gnu::cold]] virtual void set_batch(int64_t size) {
    detail::fail({"[Loader] batches of ", size, " samples were asked for; this loader's have one size."});
  }
};

// An iterator of the library, with its parameters in MXNet: MNISTIter, CSVIter, ImageRecordIter, ImageDetRecordIter. It reads,
// decodes and augments in threads of its own, ahead of what is asked for.
class FileLoader : public Loader {
 public:
  struct Option {
    template <class T>
    Option(const char* of, const T& to) : name(of), value(detail::text(to)) {}
    std::string name, value;
  };
  [[gnu::cold]] FileLoader(const char* kind, const std::vector<Option>& options) {
    std::vector<const char*> names, values;
    for (const Option& option : options) {
      names.push_back(option.name.c_str());
      values.push_back(option.value.c_str());
    }
    const LoomixPairs pairs{names.size(), names.data(), values.data()};
    LoomixIterator made = nullptr;
    detail::check(LoomixIteratorCreate(kind, &pairs, &made));
    handle_ = detail::Handle<LoomixIterator>(made);
  }
  bool next(Batch& batch) override {
    int more = 0;
    batch = {};
    detail::check(LoomixIteratorNext(handle_.get(), &more));
    if (!more) return false;
    LoomixBatch found{};
    detail::check(LoomixIteratorGetBatch(handle_.get(), &found));
    batch.data = Array(found.data);
    batch.label = Array(found.label);
    batch.padding = found.pad;
    return true;
  }
  void reset() override { detail::check(LoomixIteratorReset(handle_.get())); }

 private:
  detail::Handle<LoomixIterator> handle_;
};

struct MnistOptions {
  int64_t batch = 100;
  bool shuffle = false;
  bool flat = false;
  int64_t seed = 0;
  int64_t part = 0, parts = 1;  // of the samples, where several processes train together
};
// Files of MNIST's form, compressed or not; `prefix` is up to "-images-idx3-ubyte": "data/train".
[[gnu::cold]] inline FileLoader mnist(const std::string& prefix, const MnistOptions& options = {}) {
  std::string end = ".gz";
  if (FILE* plain = std::fopen((prefix + "-images-idx3-ubyte").c_str(), "rb")) {
    std::fclose(plain);
    end = "";
  }
  return FileLoader("MNISTIter", {{"image", prefix + "-images-idx3-ubyte" + end},
                                  {"label", prefix + "-labels-idx1-ubyte" + end},
                                  {"batch_size", options.batch},
                                  {"shuffle", options.shuffle},
                                  {"flat", options.flat},
                                  {"seed", options.seed},
                                  {"part_index", options.part},
                                  {"num_parts", options.parts}});
}
// A row a sample.
[[gnu::cold]] inline FileLoader csv(const std::string& data, const Shape& shape, const std::string& labels,
                                    int64_t batch) {
  return FileLoader(
      "CSVIter", {{"data_csv", data}, {"data_shape", shape}, {"label_csv", labels}, {"batch_size", batch}});
}
struct RecordOptions {
  int64_t batch = 32;
  bool shuffle = false;
  bool random_crop = false;
  bool random_mirror = false;
  int64_t threads = 2;
  std::vector<FileLoader::Option> more = {};  // others of ImageRecordIter
};
// Images in a RecordIO file, cut and decoded to (channels, height, width).
[[gnu::cold]] inline FileLoader records(const std::string& path, const Shape& shape,
                                        const RecordOptions& options = {}) {
  std::vector<FileLoader::Option> all = {{"path_imgrec", path},
                                         {"data_shape", shape},
                                         {"batch_size", options.batch},
                                         {"shuffle", options.shuffle},
                                         {"rand_crop", options.random_crop},
                                         {"rand_mirror", options.random_mirror},
                                         {"preprocess_threads", options.threads}};
  for (const FileLoader::Option& option : options.more) all.push_back(option);
  return FileLoader("ImageRecordIter", all);
}

struct ArrayLoaderOptions {
  int64_t batch = 32;
  bool shuffle = false;
  bool drop_last = false;  // else the last batch may be smaller
};
// Batches of arrays in memory.
class ArrayLoader : public Loader {
 public:
  ArrayLoader(const Array& data, const Array& label, const ArrayLoaderOptions& options = {})
      : data_(data), label_(label), options_(options), size_(data.shape(0)) {
    if (label && label.shape(0) != size_)
      detail::fail({"[ArrayLoader] there are ", size_, " samples and ", label.shape(0), " labels."});
    set_batch(options.batch);
    reset();
  }
  bool next(Batch& batch) override {
    const int64_t end = at_ + options_.batch < size_ ? at_ + options_.batch : size_;
    if (at_ >= size_ || (options_.drop_last && end - at_ < options_.batch)) return false;
    const Array rows = order_ ? slice(order_, at_, end) : Array();
    batch = {.data = part(data_, rows, at_, end), .label = label_ ? part(label_, rows, at_, end) : Array()};
    at_ = end;
    return true;
  }
  [[gnu::cold]] void set_batch(int64_t size) final {
    if (size < 1) detail::fail({"[ArrayLoader] batch is ", size, "; expected 1 or more."});
    options_.batch = size;
    at_ = 0;
  }
  void reset() override {
    at_ = 0;
    if (options_.shuffle)
      order_ = detail::Call("_shuffle")
                   .in(arange(0, static_cast<double>(size_), 1, {DType::float64}))
                   .run()
                   .astype(DType::int64);
  }

 private:
  static Array slice(const Array& array, int64_t begin, int64_t end) {
    LoomixArray made = nullptr;
    detail::check(LoomixArraySlice(array.handle(), begin, end, &made));
    return Array(made);
  }
  static Array part(const Array& array, const Array& rows, int64_t begin, int64_t end) {
    return rows ? detail::Call("take").in(array).in(rows).run() : slice(array, begin, end);
  }

  Array data_, label_, order_;
  ArrayLoaderOptions options_;
  int64_t size_, at_ = 0;
};

}  // namespace loomix::nn
