// SPDX-License-Identifier: Apache-2.0
// im2rec: images to record files. Takes the options of MXNet's im2rec.py, and the arguments of its C++ im2rec.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <map>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "tools/im2rec/convert.h"
#include "tools/im2rec/image_list.h"

namespace loomix::tools {
namespace {

namespace fs = std::filesystem;

void convert_list(const std::string& list, const std::string& root, const std::string& record,
                  const ConvertOptions& options, size_t part = 0, size_t parts = 1) {
  ReadList read = read_list(list);
  for (const std::string& line : read.bad_lines) fmt::print(stderr, "left out {}\n", line);
  if (parts > 1) {
    const size_t count = read.images.size();
    read.images.erase(read.images.begin() + static_cast<ptrdiff_t>(count * (part + 1) / parts),
                      read.images.end());
    read.images.erase(read.images.begin(),
                      read.images.begin() + static_cast<ptrdiff_t>(count * part / parts));
  }
  const std::string index = fs::path(record).replace_extension(".idx").string();
  const Converted done = convert(read.images, root, record, index, options);
  fmt::print("{}: {} records", record, done.written);
  if (done.skipped > 0) fmt::print(", {} images skipped", done.skipped);
  fmt::print("\n");
}

// The lists whose path begins with the prefix; all of a folder if the prefix is one without a list beside it.
std::vector<std::string> find_lists(const std::string& prefix) {
  const bool whole_folder = fs::is_directory(prefix) && !fs::exists(prefix + ".lst");
  const fs::path folder = whole_folder ? fs::path(prefix) : fs::path(prefix).parent_path();
  std::vector<std::string> lists;
  if (!fs::is_directory(folder)) return lists;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const std::string path = entry.path().string();
    if (path.starts_with(prefix) && path.ends_with(".lst") && entry.is_regular_file()) lists.push_back(path);
  }
  std::sort(lists.begin(), lists.end());
  return lists;
}

std::vector<std::string> make_lists(const std::string& prefix, const std::string& root,
                                    const ListOptions& options) {
  FoundImages found = find_images(root, options);
  LOOMIX_CHECK(!found.images.empty(), FileError, "[im2rec] folder {} has no images that end in {}{}.", root,
               fmt::join(options.extensions, ", "),
               options.recursive ? "" : "; --recursive looks into its subfolders, too");
  if (options.recursive) {
    for (size_t label = 0; label < found.folders.size(); ++label)
      fmt::print("{} {}\n", found.folders[label], label);
  }
  return write_lists(prefix, std::move(found.images), options);
}

// `image.lst root output.rec [key=value ...]`
void run_list_arguments(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> values;
  for (size_t i = 3; i < arguments.size(); ++i) {
    const size_t cut = arguments[i].find('=');
    LOOMIX_CHECK(cut != std::string::npos, ValueError, "[im2rec] \"{}\" is no option; expected key=value.",
                 arguments[i]);
    values[arguments[i].substr(0, cut)] = arguments[i].substr(cut + 1);
  }
  const auto number = [&](const char* name, int otherwise, int low, int high) {
    const auto found = values.extract(name);
    if (!found) return otherwise;
    const std::string& text = found.mapped();
    int value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    LOOMIX_CHECK(
        parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && low <= value && value <= high,
        ValueError, "[im2rec] {}={}; expected a whole number from {} to {}.", name, text, low, high);
    return value;
  };
  ConvertOptions options;
  options.color = number("color", 1, -1, 1);
  options.resize = std::max(0, number("resize", 0, -1, 1 << 16));
  const int label_width = number("label_width", 1, 1, 1 << 20);
  options.pack_label = number("pack_label", 0, 0, 1) != 0;
  const int parts = number("nsplit", 1, 1, 1 << 20);
  const int part = number("part", 0, 0, parts - 1);
  options.center_crop = number("center_crop", 0, 0, 1) != 0;
  options.quality = number("quality", 95, 0, 100);
  options.interpolation = number("inter_method", 1, 0, 10);
  options.pass_through = number("unchanged", 0, 0, 1) != 0;
  options.threads = number("num_thread", 0, 0, 4096);
  if (auto encoding = values.extract("encoding")) options.encoding = encoding.mapped();
  LOOMIX_CHECK(options.encoding == ".jpg" || options.encoding == ".png", ValueError,
               "[im2rec] encoding={}; expected .jpg or .png.", options.encoding);
  LOOMIX_CHECK(values.empty(), ValueError, "[im2rec] there is no option {}.", values.begin()->first);
  LOOMIX_CHECK(label_width == 1 || options.pack_label, ValueError,
               "[im2rec] label_width={} needs pack_label=1, or only the first label is kept.", label_width);
  std::string record = arguments[2];
  if (parts > 1) record += fmt::format(".part{:03d}", part);
  convert_list(arguments[0], arguments[1], record, options, static_cast<size_t>(part),
               static_cast<size_t>(parts));
}

int run(int argc, char** argv) {
  ListOptions listing;
  ConvertOptions options;
  std::vector<std::string> places;
  bool list_only = false;
  bool no_shuffle = false;

  CLI::App app{
      "Makes record files of images.\n\n"
      "  im2rec PREFIX ROOT               PREFIX.rec and PREFIX.idx of each list PREFIX*.lst; where there is "
      "none,\n"
      "                                   it is made of the images below the folder ROOT first\n"
      "  im2rec --list PREFIX ROOT        only the list\n"
      "  im2rec IMAGES.lst ROOT OUT.rec [key=value ...]\n"
      "                                   keys: color resize label_width pack_label nsplit part center_crop "
      "quality\n"
      "                                   encoding inter_method unchanged num_thread\n\n"
      "A run that was interrupted goes on if it is started again with the same list and options."};
  app.add_option("places", places, "PREFIX ROOT, or IMAGES.lst ROOT OUT.rec and key=value options");
  app.add_flag("--list", list_only, "Only make the list or lists");
  app.add_option("--exts", listing.extensions, "Endings of images")->capture_default_str();
  app.add_option("--chunks", listing.chunks, "Number of lists to make")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--train-ratio", listing.train_ratio, "Part of the images for training")
      ->check(CLI::Range(0., 1.))
      ->capture_default_str();
  app.add_option("--test-ratio", listing.test_ratio, "Part of the images for testing")
      ->check(CLI::Range(0., 1.))
      ->capture_default_str();
  app.add_flag("--recursive", listing.recursive, "Look into subfolders; each is a label");
  app.add_flag("--no-shuffle", no_shuffle, "Keep the order of names");
  app.add_flag("--pass-through", options.pass_through, "Pack the files as they are");
  app.add_option("--resize", options.resize, "New length of the shorter edge; 0 keeps the size")
      ->check(CLI::Range(0, 1 << 16))
      ->capture_default_str();
  app.add_flag("--center-crop", options.center_crop, "Crop the middle square");
  app.add_option("--quality", options.quality, "JPEG quality, 1 to 100, or PNG compression, 0 to 9")
      ->check(CLI::Range(0, 100))
      ->capture_default_str();
  app.add_option("--num-thread", options.threads, "Threads; 0: one for each core. The order is the list's")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  app.add_option("--color", options.color, "1: colour, 0: grey, -1: as in the file")
      ->check(CLI::IsMember({-1, 0, 1}))
      ->capture_default_str();
  app.add_option("--encoding", options.encoding, "Format of the packed images")
      ->check(CLI::IsMember({".jpg", ".png"}))
      ->capture_default_str();
  app.add_flag("--pack-label", options.pack_label, "Pack all labels of the list");
  app.add_option(
         "--min-kept", options.min_kept,
         "Part of the images that must be packed, or the files of an earlier run stay; always one at least")
      ->check(CLI::Range(0., 1.))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  // `--exts .jpg .png PREFIX ROOT` takes the places for endings.
  while (places.size() < 2 && listing.extensions.size() > 1 && !listing.extensions.back().starts_with('.')) {
    places.insert(places.begin(), listing.extensions.back());
    listing.extensions.pop_back();
  }
  listing.shuffle = !no_shuffle;

  if (places.size() >= 3 && places[0].ends_with(".lst")) {
    run_list_arguments(places);
    return 0;
  }
  LOOMIX_CHECK(places.size() == 2, ValueError,
               "[im2rec] {} places were given; expected PREFIX and ROOT. --help tells more.", places.size());
  const std::string prefix = fs::absolute(places[0]).string();
  const std::string root = fs::absolute(places[1]).string();
  if (list_only) {
    for (const std::string& list : make_lists(prefix, root, listing)) fmt::print("{}\n", list);
    return 0;
  }
  std::vector<std::string> lists = find_lists(prefix);
  if (lists.empty()) lists = make_lists(prefix, root, listing);
  for (const std::string& list : lists)
    convert_list(list, root, fs::path(list).replace_extension(".rec").string(), options);
  return 0;
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
