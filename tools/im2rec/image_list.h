// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace loomix::tools {

// A line of a `.lst` file: `INDEX<tab>LABEL[<tab>LABEL ...]<tab>PATH`, the path relative to a root.
struct ListedImage {
  int64_t index = 0;
  std::vector<float> labels;
  std::string path;
};

struct ListOptions {
  std::vector<std::string> extensions = {".jpeg", ".jpg", ".png"};
  bool recursive = false;  // each folder is a label; else only the root's images, with label 0
  bool shuffle = true;
  int chunks = 1;
  double train_ratio = 1;
  double test_ratio = 0;
};

// The images below `root` in the order, and with the labels, of MXNet's im2rec.py.
struct FoundImages {
  std::vector<ListedImage> images;
  std::vector<std::string> folders;  // of each label, if recursive
};
FoundImages find_images(const std::string& root, const ListOptions& options);

// Writes `<prefix>.lst`, or the lists of chunks, and of training, validation and test, as the options ask; returns
// their paths. The order is im2rec.py's, which shuffles by Python's generator with the seed 100.
std::vector<std::string> write_lists(const std::string& prefix, std::vector<ListedImage> images,
                                     const ListOptions& options);

struct ReadList {
  std::vector<ListedImage> images;
  std::vector<std::string> bad_lines;  // what is wrong with lines that were left out
};
ReadList read_list(const std::string& path);
// `path` names the text in messages.
ReadList parse_list(std::string_view text, const std::string& path);

std::string list_line(const ListedImage& image);

}  // namespace loomix::tools
