// SPDX-License-Identifier: Apache-2.0
#include "io/iter/csv_iter.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "base/error.h"

namespace loomix::io {
namespace {

constexpr const char* kWho = "CSVIter";

struct Table {
  int64_t rows = 0;
  std::vector<std::byte> bytes;
};

// Reads the numbers of files into a table whose rows have `columns` elements of type T.
template <class T>
class CsvReader {
 public:
  CsvReader(Table& table, const Shape& sample) : table_(table), sample_(sample), columns_(sample.size()) {}

  void read(const std::string& path) {
    std::ifstream file(path);
    LOOMIX_CHECK(file, FileError, "[{}] cannot open {}.", kWho, path);
    std::string line;
    for (int64_t number = 1; std::getline(file, line); ++number) {
      std::string_view text = strip(line);
      if (!text.empty()) read_row(text, path, number);
    }
    LOOMIX_CHECK(!file.bad(), FileError, "[{}] cannot read {}.", kWho, path);
  }

 private:
  static std::string_view strip(std::string_view text) {
    constexpr std::string_view kBlank = " \t\r";
    const size_t begin = text.find_first_not_of(kBlank);
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
  }

  void read_row(std::string_view text, const std::string& path, int64_t line) {
    int64_t found = 0;
    while (true) {
      const size_t comma = std::min(text.find(','), text.size());
      const std::string_view field = strip(text.substr(0, comma));
      T value{};
      const std::string_view digits = field.starts_with('+') ? field.substr(1) : field;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      LOOMIX_CHECK(error == std::errc() && end == digits.data() + digits.size(), FileError,
                   "[{}] line {} of {} has '{}'; expected a number.", kWho, line, path, field);
      if (found < columns_) {
        const auto* const begin = reinterpret_cast<const std::byte*>(&value);
        table_.bytes.insert(table_.bytes.end(), begin, begin + sizeof(T));
      }
      ++found;
      if (comma == text.size()) break;
      text.remove_prefix(comma + 1);
    }
    LOOMIX_CHECK(found == columns_, ShapeError,
                 "[{}] line {} of {} has {} values; expected {}, for shape {}.", kWho, line, path, found,
                 columns_, sample_.to_string());
    ++table_.rows;
  }

  Table& table_;
  const Shape sample_;
  const int64_t columns_;
};

std::vector<std::string> files_of(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_directory(path, error)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path, error))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

Table read_table(const std::string& path, const Shape& sample, DType dtype) {
  Table table;
  for (const std::string& file : files_of(path)) {
    if (dtype == DType::int32) CsvReader<int32_t>(table, sample).read(file);
    else if (dtype == DType::int64) CsvReader<int64_t>(table, sample).read(file);
    else CsvReader<float>(table, sample).read(file);
  }
  return table;
}

}  // namespace

void CsvParams::fields(FieldList<CsvParams>& f) {
  using P = CsvParams;
  f("data_csv", &P::data_csv, "File of the inputs, or a folder whose files are all read.")
      .required("data.csv");
  f("data_shape", &P::data_shape, "Shape of one sample; its values are one row.").required("(3,)");
  f("label_csv", &P::label_csv, "The same for the labels; `NULL`: they are 0.");
  f("label_shape", &P::label_shape, "Shape of one label.");
  f("batch_size", &P::batch_size, "Samples in a batch.").required("2").at_least(1);
  f("round_batch", &P::round_batch,
    "Whether the last batch is filled up from the beginning, where the next pass then goes on. Otherwise it "
    "keeps "
    "samples of the batch before.");
  f("prefetch_buffer", &P::prefetch_buffer, "Has no effect: all is in memory.");
  f("ctx", &P::ctx, kAboutCtx).options({"cpu", "gpu"});
  f("dtype", &P::dtype, "Type of the batches; float32 by default.")
      .dtypes({DType::float32, DType::int32, DType::int64});
}

std::unique_ptr<MemoryIter> make_csv_iter(engine::Engine& engine, const CsvParams& params) {
  for (const Shape* const shape : {&params.data_shape, &params.label_shape}) {
    LOOMIX_CHECK(shape->is_known() && shape->size() > 0, ShapeError,
                 "[{}] the shape of a sample is {}; expected sizes of 1 or more.", kWho, shape->to_string());
  }
  const DType dtype = params.dtype.value_or(DType::float32);
  auto data = std::make_shared<const Table>(read_table(params.data_csv, params.data_shape, dtype));
  LOOMIX_CHECK(data->rows > 0, FileError, "[{}] {} holds no rows.", kWho, params.data_csv);
  const auto data_bytes = static_cast<size_t>(params.data_shape.size() * size_of(dtype));
  const auto label_bytes = static_cast<size_t>(params.label_shape.size() * size_of(dtype));
  std::shared_ptr<const Table> labels;
  if (params.label_csv != "NULL" && !params.label_csv.empty()) {
    labels = std::make_shared<const Table>(read_table(params.label_csv, params.label_shape, dtype));
    LOOMIX_CHECK(labels->rows == data->rows, ShapeError, "[{}] there are {} rows of data but {} labels.",
                 kWho, data->rows, labels->rows);
  }
  MemoryIterOptions options;
  options.batch_size = params.batch_size;
  options.last = params.round_batch ? LastBatch::round : LastBatch::pad;
  options.data_shape = params.data_shape;
  options.label_shape = params.label_shape == Shape{1} ? Shape() : params.label_shape;
  options.dtype = dtype;
  options.target.ctx = params.ctx;
  std::vector<int64_t> order(static_cast<size_t>(data->rows));
  std::iota(order.begin(), order.end(), 0);
  auto read = [=](int64_t sample, std::byte* to_data, std::byte* to_label) {
    const auto row = static_cast<size_t>(sample);
    std::memcpy(to_data, data->bytes.data() + row * data_bytes, data_bytes);
    if (labels) std::memcpy(to_label, labels->bytes.data() + row * label_bytes, label_bytes);
  };
  return std::make_unique<MemoryIter>(engine, std::move(options), std::move(order), read);
}

}  // namespace loomix::io
