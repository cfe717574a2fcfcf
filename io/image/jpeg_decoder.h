// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "io/image/codec.h"

namespace loomix::io {

// Decodes JPEGs row by row; reusable, which saves its set-up. One thread at a time. Pixels are those of the slow integer
// transform with smooth upsampling. Every function throws FileError for damaged or missing data.
class JpegDecoder {
 public:
  JpegDecoder();
  JpegDecoder(JpegDecoder&&) noexcept;
  JpegDecoder& operator=(JpegDecoder&&) noexcept;
  ~JpegDecoder();

  // Reads the header. `file` must outlive the decoding.
  void open(std::span<const uint8_t> file);
  // Size of the pixels to come, for this colour and denominator.
  void start(Color color, int denominator = 1);
  int height() const;
  int width() const;
  int channels() const;

  // The next rows, from the top.
  void skip(int rows);
  void read(uint8_t* out, size_t stride, int rows);
  // Once all rows were read; also says whether what lies behind them is whole.
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace loomix::io
