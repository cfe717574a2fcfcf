// SPDX-License-Identifier: Apache-2.0
#include "tools/im2rec/convert.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include <fmt/core.h>

#include "base/error.h"
#include "io/image/codec.h"
#include "io/record/image_record.h"
#include "io/record/index.h"
#include "io/record/reader.h"
#include "io/record/writer.h"
#include "tools/im2rec/ordered_pool.h"
#include "tools/im2rec/progress.h"

namespace loomix::tools {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> read_file(const std::string& path) {
  const auto source = io::open_source(path);
  std::vector<uint8_t> bytes(source->size().value_or(0));
  bytes.resize(source->read_at(0, bytes, bytes.size()));
  return bytes;
}

std::vector<uint8_t> encode(const std::vector<uint8_t>& file, uint32_t draw, const ConvertOptions& options) {
  io::DecodeOptions decoding;
  decoding.color = static_cast<io::Color>(options.color);
  decoding.apply_orientation = options.color >= 0;
  const io::Image image = io::decode_image(file, decoding);
  io::ImageView view = image.view();
  if (options.center_crop) {
    const int edge = std::min(view.height, view.width);
    view = view.crop((view.height - edge) / 2, (view.width - edge) / 2, edge, edge);
  }
  io::Image resized;
  if (options.resize > 0) {
    const auto edge = [&](int length, int shorter) {
      return std::max(1, static_cast<int>(int64_t{length} * options.resize / shorter));
    };
    const int height = view.height > view.width ? edge(view.height, view.width) : options.resize;
    const int width = view.height > view.width ? options.resize : edge(view.width, view.height);
    resized = io::resize(
        view, height, width,
        io::choose_interpolation(options.interpolation, view.height, view.width, height, width, draw));
    view = resized.view();
  }
  if (options.encoding == ".png") return io::encode_png(view, std::min(options.quality, 9));
  return io::encode_jpeg(view, options.quality);
}

// A record, or why there is none.
struct Made {
  std::vector<uint8_t> record;
  std::string failure;
};

Made make_record(const ListedImage& image, const std::string& root, const ConvertOptions& options) {
  const std::string path = (fs::path(root) / image.path).string();
  try {
    std::vector<uint8_t> content = read_file(path);
    if (!options.pass_through) content = encode(content, static_cast<uint32_t>(image.index), options);
    const size_t labels = options.pack_label ? image.labels.size() : 1;
    return {io::pack_image_record(std::span(image.labels).first(labels), static_cast<uint64_t>(image.index),
                                  0, content),
            {}};
  } catch (const Error& error) {
    return {{}, fmt::format("{}: {}", path, error.what())};
  }
}

// What a run is: another list or other options begin anew.
std::string fingerprint(const std::vector<ListedImage>& images, const std::string& root,
                        const ConvertOptions& o) {
  uint64_t hash = 14695981039346656037u;  // FNV-1a
  for (const ListedImage& image : images) {
    for (const char c : list_line(image)) hash = (hash ^ static_cast<uint8_t>(c)) * 1099511628211u;
  }
  return fmt::format("{} {} {:x} {} {} {} {} {} {} {} {}\n", root, images.size(), hash, o.pass_through,
                     o.resize, o.center_crop, o.quality, o.color, o.encoding, o.pack_label, o.interpolation);
}

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The entries of an interrupted run whose records are whole, and where the last of them ends.
struct Kept {
  std::vector<io::IndexEntry> entries;
  uint64_t end = 0;
};

Kept whole_records(const std::string& record, const std::string& index) {
  Kept kept;
  if (!fs::exists(record) || !fs::exists(index)) return kept;
  std::string lines = text_of(index);
  lines.resize(lines.rfind('\n') + 1);  // npos + 1 is 0
  kept.entries = io::parse_index(lines, index);
  io::RecordReader reader(io::open_source(record));
  for (; !kept.entries.empty(); kept.entries.pop_back()) {
    try {
      const io::Bytes last = reader.read_at(kept.entries.back().offset);
      if (static_cast<int64_t>(io::parse_image_record(last).id) != kept.entries.back().key) continue;
      kept.end = reader.tell();
      break;
    } catch (const FileError&) {  // the index got further than the records
    }
  }
  return kept;
}

}  // namespace

Converted convert(const std::vector<ListedImage>& images, const std::string& root, const std::string& record,
                  const std::string& index, const ConvertOptions& options) {
  LOOMIX_CHECK(root.empty() || fs::is_directory(root), FileError,
               "[im2rec] there is no folder {} to read the images of {} from.", root, record);
  const std::string partial_record = record + ".partial";
  const std::string partial_index = index + ".partial";
  const std::string run_path = record + ".run";
  const std::string run = fingerprint(images, root, options);

  Kept kept;
  size_t first = 0;
  if (text_of(run_path) == run) {
    kept = whole_records(partial_record, partial_index);
    // Images before the last record that have none failed, and were reported.
    const auto last = std::find_if(images.rbegin(), images.rend(), [&](const ListedImage& image) {
      return !kept.entries.empty() && image.index == kept.entries.back().key;
    });
    first = static_cast<size_t>(images.rend() - last);
    if (first == 0) kept = {};
  }
  std::ofstream index_out(partial_index, std::ios::binary | std::ios::trunc);
  for (const io::IndexEntry& entry : kept.entries) index_out << io::index_line(entry);
  io::RecordWriter writer =
      kept.end > 0 ? io::RecordWriter(partial_record, kept.end) : io::RecordWriter(partial_record);
  std::ofstream(run_path, std::ios::binary | std::ios::trunc) << run;
  if (first > 0) fmt::print(stderr, "{}: goes on after {} of {} images\n", record, first, images.size());

  Converted done{.written = kept.entries.size(), .kept = kept.entries.size()};
  done.skipped = first - kept.entries.size();
  const int threads = options.threads > 0
                          ? options.threads
                          : std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  {
    Progress progress(fs::path(record).filename().string(), first, images.size());
    run_ordered(
        first, images.size(), threads, static_cast<size_t>(threads) * 16,
        [&](size_t i) { return make_record(images[i], root, options); },
        [&](size_t i, Made made) {
          if (made.failure.empty()) {
            const uint64_t offset = writer.tell();
            writer.write(made.record);
            index_out << io::index_line({images[i].index, offset});
            ++done.written;
          } else {
            fmt::print(stderr, "\nskipped {}\n", made.failure);
            ++done.skipped;
          }
          if (progress.show(i + 1)) {
            writer.flush();
            index_out.flush();
          }
        });
  }
  writer.close();
  index_out.close();
  LOOMIX_CHECK(index_out, FileError, "[im2rec] {} cannot be written.", partial_index);
  if (done.written == 0 ||
      static_cast<double>(done.written) < options.min_kept * static_cast<double>(images.size())) {
    for (const std::string& path : {partial_index, partial_record, run_path}) fs::remove(path);
    detail::throw_error<FileError>(
        "[im2rec] {} of {} images could be packed; expected at least one{}. {} is left as it was.",
        done.written, images.size(),
        options.min_kept > 0 ? fmt::format(", and the part {} of them (--min-kept)", options.min_kept) : "",
        record);
  }
  fs::rename(partial_index, index);
  fs::rename(partial_record, record);
  fs::remove(run_path);
  return done;
}

}  // namespace loomix::tools
