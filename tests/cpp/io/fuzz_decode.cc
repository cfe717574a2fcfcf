// SPDX-License-Identifier: Apache-2.0
// A libFuzzer program: any bytes are a picture, or an error; and any bytes are an index or a list, or an error.
#include <cstdint>
#include <span>
#include <string_view>

#include "base/error.h"
#include "io/image/codec.h"
#include "io/record/index.h"
#include "ops/isa.h"
#include "tools/im2rec/image_list.h"

namespace {

template <class F>
void survives(F&& function) {
  try {
    function();
  } catch (const loomix::Error&) {}
}

}  // namespace

// There is only one variant of the loops here.
loomix::ops::Isa loomix::ops::machine_isa() { return Isa::base; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace loomix::io;
  const std::span<const uint8_t> bytes(data, size);
  survives([&] { parse_index({reinterpret_cast<const char*>(data), size}, "index"); });
  survives([&] { loomix::tools::parse_list({reinterpret_cast<const char*>(data), size}, "list"); });
  for (const Color color : {Color::rgb, Color::unchanged, Color::gray}) {
    survives([&] { decode_image(bytes, {.color = color}); });
  }
  survives([&] { decode_image(bytes, {.jpeg_denominator = 4}); });
  return 0;
}
