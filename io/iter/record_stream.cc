// SPDX-License-Identifier: Apache-2.0
#include "io/iter/record_stream.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "io/image/random.h"

namespace loomix::io {
namespace {

constexpr int64_t kChunkBytes = 64 << 20;

template <class T>
void shuffle(std::vector<T>& items, SampleRandom random) {
  for (size_t i = items.size(); i > 1; --i) {
    std::swap(items[i - 1], items[size_t(random.integer(0, static_cast<int>(i - 1)))]);
  }
}

std::vector<std::string> list_files(const std::string& records) {
  std::vector<std::string> files;
  for (std::string& name : split_uris(records)) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(name, ignored)) {
      files.push_back(std::move(name));
      continue;
    }
    const size_t before = files.size();
    for (const auto& entry : std::filesystem::directory_iterator(name)) {
      if (entry.is_regular_file() && entry.path().extension() == ".rec")
        files.push_back(entry.path().string());
    }
    std::sort(files.begin() + static_cast<ptrdiff_t>(before), files.end());
    LOOMIX_CHECK(files.size() > before, FileError, "[ImageRecordIter] the folder {} holds no .rec files.",
                 name);
  }
  return files;
}

class SequentialStream final : public RecordStream {
 public:
  SequentialStream(std::vector<std::string> files, const StreamOptions& options)
      : files_(std::move(files), {options.part_index, options.num_parts, options.on_damage, {}}) {}

  std::optional<Record> next() override {
    touched_ = true;
    const auto bytes = files_.next();
    if (!bytes) return std::nullopt;
    return Record{*bytes, &files_.file(), files_.offset()};
  }
  void begin(uint64_t) override {
    if (std::exchange(touched_, false)) files_.reset();
  }
  uint64_t damage_count() const override { return files_.damage_count(); }

 private:
  RecordFiles files_;
  bool touched_ = false;
};

// Fills a buffer from another stream and hands its records out in a random order.
class ChunkShuffledStream final : public RecordStream {
 public:
  ChunkShuffledStream(std::unique_ptr<RecordStream> source, const StreamOptions& options)
      : source_(std::move(source)),
        chunk_bytes_(options.chunk_bytes > 0 ? options.chunk_bytes : kChunkBytes),
        seed_(options.seed) {}

  std::optional<Record> next() override {
    if (given_ == kept_.size() && !fill()) return std::nullopt;
    const Kept& record = kept_[given_++];
    return Record{Bytes(buffer_).subspan(record.begin, record.size), record.file, record.offset};
  }
  void begin(uint64_t pass) override {
    source_->begin(pass);
    pass_ = pass;
    chunk_ = 0;
    kept_.clear();
    given_ = 0;
  }
  uint64_t damage_count() const override { return source_->damage_count(); }

 private:
  struct Kept {
    size_t begin, size;
    const std::string* file;
    uint64_t offset;
  };
  bool fill() {
    kept_.clear();
    given_ = 0;
    buffer_.clear();
    while (static_cast<int64_t>(buffer_.size()) < chunk_bytes_) {
      const auto record = source_->next();
      if (!record) break;
      kept_.push_back({buffer_.size(), record->bytes.size(), record->file, record->offset});
      buffer_.insert(buffer_.end(), record->bytes.begin(), record->bytes.end());
    }
    shuffle(kept_, SampleRandom(seed_, pass_, chunk_++));
    return !kept_.empty();
  }

  std::unique_ptr<RecordStream> source_;
  const int64_t chunk_bytes_;
  const uint64_t seed_;
  uint64_t pass_ = 0, chunk_ = 0;
  std::vector<uint8_t> buffer_;
  std::vector<Kept> kept_;
  size_t given_ = 0;
};

class IndexedStream final : public RecordStream {
 public:
  IndexedStream(std::string file, const StreamOptions& options)
      : reader_(open_source(file), options.on_damage), file_(std::move(file)), options_(options) {
    const auto entries = read_index(options.index);
    const auto [first, last] = part_range(entries.size(), options.part_index, options.num_parts);
    for (uint64_t i = first; i < last; ++i) offsets_.push_back(entries[i].offset);
    begin(0);
  }

  std::optional<Record> next() override {
    while (given_ < order_.size()) {
      const uint64_t offset = order_[given_++];
      try {
        return Record{reader_.read_at(offset), &file_, offset};
      } catch (const FileError&) {
        if (options_.on_damage == OnDamage::raise) throw;
        ++damages_;
      }
    }
    return std::nullopt;
  }
  void begin(uint64_t pass) override {
    order_ = offsets_;
    if (options_.shuffle) shuffle(order_, SampleRandom(options_.seed, pass, UINT64_MAX));
    given_ = 0;
  }
  uint64_t damage_count() const override { return damages_; }

 private:
  RecordReader reader_;
  const std::string file_;
  const StreamOptions options_;
  std::vector<uint64_t> offsets_, order_;
  size_t given_ = 0;
  uint64_t damages_ = 0;
};

}  // namespace

std::unique_ptr<RecordStream> open_stream(const StreamOptions& options) {
  LOOMIX_CHECK(options.num_parts >= 1 && options.part_index >= 0 && options.part_index < options.num_parts,
               ValueError,
               "[ImageRecordIter] part_index is {} and num_parts {}; expected 0 <= part_index < num_parts.",
               options.part_index, options.num_parts);
  std::vector<std::string> files = list_files(options.records);
  LOOMIX_CHECK(!files.empty(), ValueError, "[ImageRecordIter] path_imgrec is empty; expected a .rec file.");
  if (!options.index.empty()) {
    LOOMIX_CHECK(files.size() == 1, ValueError,
                 "[ImageRecordIter] path_imgidx is for one file, but path_imgrec names {}.", files.size());
    return std::make_unique<IndexedStream>(std::move(files[0]), options);
  }
  auto stream = std::make_unique<SequentialStream>(std::move(files), options);
  if (!options.shuffle) return stream;
  return std::make_unique<ChunkShuffledStream>(std::move(stream), options);
}

}  // namespace loomix::io
