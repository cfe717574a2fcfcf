// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/im2rec/image_list.h"

namespace loomix::tools {

struct ConvertOptions {
  bool pass_through = false;  // the files as they are
  int resize = 0;             // the shorter edge's new length; 0 keeps the size
  bool center_crop = false;   // to a square, before resizing
  int quality = 95;           // JPEG 1 to 100, PNG compression 0 to 9
  int color = 1;              // 1 colour, 0 grey, -1 as in the file
  std::string encoding = ".jpg";
  bool pack_label = false;  // all labels; else the first
  int interpolation = 1;
  int threads = 0;      // 0: one for each core
  double min_kept = 0;  // the part of the images that must become records
};

struct Converted {
  uint64_t written = 0;
  uint64_t skipped = 0;  // images that could not be read; each was reported
  uint64_t kept = 0;     // of `written`: from a run that was interrupted
};

// Writes the listed images to `record` and its index to `index`, in the list's order for any number of threads. Until
// it is done, both are called `.partial`; a run that was interrupted goes on there if it is started again with the same
// list and options. Throws FileError if there is no folder `root`, and if no image, or fewer than `min_kept` of them, could
// be packed: files of an earlier run are left as they are then.
Converted convert(const std::vector<ListedImage>& images, const std::string& root, const std::string& record,
                  const std::string& index, const ConvertOptions& options);

}  // namespace loomix::tools
