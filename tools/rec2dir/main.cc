// SPDX-License-Identifier: Apache-2.0
// rec2dir: the images of a record file as files, and the list that im2rec makes the record file of again.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/core.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "io/image/codec.h"
#include "io/record/image_record.h"
#include "io/record/reader.h"
#include "tools/im2rec/image_list.h"
#include "tools/im2rec/progress.h"

namespace loomix::tools {
namespace {

namespace fs = std::filesystem;

const char* ending(io::Bytes content) {
  switch (io::image_format(content)) {
    case io::ImageFormat::jpeg: return ".jpg";
    case io::ImageFormat::png: return ".png";
    case io::ImageFormat::bmp: return ".bmp";
    case io::ImageFormat::unknown: break;
  }
  return ".bin";
}

int run(int argc, char** argv) {
  std::string record_path;
  std::string folder;
  bool flat = false;
  CLI::App app{
      "Writes each image of a record file to FOLDER/LABEL/ID.jpg, and the list FOLDER.lst, of which\n"
      "`im2rec --pass-through --pack-label --no-shuffle FOLDER FOLDER` makes the record file again."};
  app.add_option("record", record_path, "The record file")->required();
  app.add_option("folder", folder, "Where the images go")->required();
  app.add_flag("--flat", flat, "No folder for each label");
  CLI11_PARSE(app, argc, argv);
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();

  io::RecordReader reader(io::open_source(record_path), io::OnDamage::skip);
  fs::create_directories(folder);
  std::ofstream list(folder + ".lst", std::ios::binary | std::ios::trunc);
  std::set<std::string> names;
  uint64_t count = 0;
  uint64_t wrong = 0;
  {
    Progress progress(fs::path(record_path).filename().string(), 0, reader.size().value_or(0));
    while (const auto record = reader.next()) {
      try {
        const io::ImageRecord image =
            io::parse_image_record(*record, fmt::format("{}, offset {}", record_path, reader.offset()));
        ListedImage line{.index = static_cast<int64_t>(image.id), .labels = {}, .path = {}};
        for (size_t i = 0; i < image.label_count(); ++i) line.labels.push_back(image.label(i));
        const std::string subfolder = flat || image.flag > 0 ? "" : fmt::format("{:g}/", image.label(0));
        line.path = fmt::format("{}{}{}", subfolder, image.id, ending(image.content));
        for (int again = 1; !names.insert(line.path).second; ++again) {  // ids need not differ
          line.path = fmt::format("{}{}-{}{}", subfolder, image.id, again, ending(image.content));
        }
        const fs::path path = fs::path(folder) / line.path;
        fs::create_directories(path.parent_path());
        std::ofstream out(path, std::ios::binary | std::ios::trunc);
        out.write(reinterpret_cast<const char*>(image.content.data()),
                  static_cast<std::streamsize>(image.content.size()));
        out.close();
        LOOMIX_CHECK(out, ValueError, "[rec2dir] {} cannot be written.", path.string());
        list << list_line(line);
        ++count;
      } catch (const FileError& error) {
        fmt::print(stderr, "\nskipped {}\n", error.what());
        ++wrong;
      }
      progress.show(reader.tell());
    }
  }
  list.close();
  LOOMIX_CHECK(list, FileError, "[rec2dir] {}.lst cannot be written.", folder);
  for (const io::Damage& damage : reader.damages()) fmt::print(stderr, "damaged: {}\n", damage.text());
  fmt::print("{}: {} images\n", folder, count);
  return wrong + reader.damage_count() > 0 ? 1 : 0;
}

}  // namespace
}  // namespace loomix::tools

int main(int argc, char** argv) {
  try {
    return loomix::tools::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
