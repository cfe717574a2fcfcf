// SPDX-License-Identifier: Apache-2.0
#include "io/image/codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "io/image/exif.h"
#include "io/image/jpeg_decoder.h"
#include "tests/cpp/io/raw_images.h"

namespace loomix::io {
namespace {

using test::distance;
using test::read_image_file;

const std::vector<std::string> kFiles = {"420.jpg",     "422.jpg",     "progressive.jpg", "gray.jpg",
                                         "cmyk.jpg",    "rgb.png",     "rgba.png",        "palette.png",
                                         "gray16.png",  "rgb.bmp",     "gray.bmp",        "bits1.png",
                                         "palette.bmp", "turned6.jpg", "444.jpg"};

TEST(Codec, DecodesAsOpenCvDoes) {
  const auto expected = test::read_raw("decoded.raw");
  ASSERT_GE(expected.size(), 40u);
  for (const auto& [name, pixels] : expected) {
    const size_t colon = name.find(':');
    const auto file = read_image_file(name.substr(0, colon));
    const DecodeOptions options{name.substr(colon + 1) == "gray" ? Color::gray : Color::rgb};
    EXPECT_LE(distance(decode_image(file, options), pixels), 1) << name;
  }
}

TEST(Codec, UnchangedKeepsChannels) {
  const DecodeOptions options{Color::unchanged};
  EXPECT_EQ(decode_image(read_image_file("rgba.png"), options).channels(), 4);
  EXPECT_EQ(decode_image(read_image_file("gray.png"), options).channels(), 1);
  EXPECT_EQ(decode_image(read_image_file("gray.jpg"), options).channels(), 1);
  EXPECT_EQ(decode_image(read_image_file("420.jpg"), options).channels(), 3);
}

TEST(Codec, SmallerJpegsOnRequest) {
  const Image small = decode_image(read_image_file("420.jpg"), {.jpeg_denominator = 4});
  EXPECT_EQ(small.height(), 10);
  EXPECT_EQ(small.width(), 12);
  EXPECT_THROW(decode_image(read_image_file("420.jpg"), {.jpeg_denominator = 3}), ValueError);
}

TEST(Codec, EncodedPicturesComeBack) {
  const Image image = decode_image(read_image_file("rgba.png"), {Color::unchanged});
  EXPECT_EQ(distance(decode_image(encode_png(image), {Color::unchanged}), image), 0);
  EXPECT_EQ(distance(decode_image(encode_png(image, 9), {Color::unchanged}), image), 0);
  const Image smooth = resize(decode_image(read_image_file("rgb.png")), 300, 200, Interpolation::bicubic);
  EXPECT_LE(distance(decode_image(encode_jpeg(smooth, 100)), smooth), 40);  // subsampled colours
  EXPECT_LT(encode_jpeg(smooth, 30).size(), encode_jpeg(smooth, 90).size());
  EXPECT_THROW(encode_jpeg(image), ValueError);
  EXPECT_THROW(encode_jpeg(smooth, 0), ValueError);
  EXPECT_THROW(encode_png(smooth, 10), ValueError);
  EXPECT_THROW(encode_jpeg(Image(0, 3, 3)), ValueError);
}

TEST(Codec, ReusedDecoderSkipsRows) {
  const auto file = read_image_file("420.jpg");
  const Image whole = decode_image(file);
  JpegDecoder decoder;
  for (int first : {0, 5, 16, 21}) {
    decoder.open(file);
    decoder.start(Color::rgb);
    decoder.skip(first);
    Image part(8, decoder.width(), 3);
    decoder.read(part.data(), part.stride(), 8);
    for (int y = 0; y < 8; ++y) {
      EXPECT_TRUE(std::equal(part.row(y), part.row(y) + part.stride(), whole.row(first + y)))
          << first << " " << y;
    }
  }
}

TEST(Codec, DamageIsAnErrorWithItsReason) {
  EXPECT_THROW(decode_image(std::span<const uint8_t>{}), FileError);
  const std::vector<uint8_t> text = {'h', 'e', 'l', 'l', 'o'};
  EXPECT_THAT(
      [&] { decode_image(text); },
      testing::ThrowsMessage<FileError>(testing::HasSubstr("begin with 68 65 6c 6c 6f; expected a JPEG")));
}

TEST(Codec, CutFilesAreErrors) {
  for (const std::string& name : kFiles) {
    const auto file = read_image_file(name);
    for (size_t keep = 0; keep < file.size() - 2; keep += 1 + file.size() / 61) {
      EXPECT_THROW(decode_image(std::span(file).first(keep)), FileError) << name << " " << keep;
    }
  }
}

// A changed byte may give other pixels or an error, and nothing else; the sanitizers look on.
TEST(Codec, MutatedFilesNeverCrash) {
  std::mt19937 random(5);
  for (const std::string& name : kFiles) {
    const auto original = read_image_file(name);
    int errors = 0;
    for (int round = 0; round < 150; ++round) {
      auto file = original;
      for (unsigned changes = 1 + random() % 6; changes > 0; --changes) {
        const size_t at =
            random() % 2 ? random() % file.size() : random() % std::min<size_t>(file.size(), 80);
        file[at] = random() % 3 ? static_cast<uint8_t>(random()) : 0xff;
      }
      if (random() % 4 == 0) file.resize(random() % file.size());
      try {
        for (const Color color : {Color::rgb, Color::unchanged}) decode_image(file, {color});
      } catch (const FileError&) {
        ++errors;
      }
    }
    EXPECT_GT(errors, 10) << name;
  }
}

TEST(Exif, DamagedBlocksSayNothing) {
  std::vector<uint8_t> block = {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0};
  EXPECT_EQ(exif_orientation(block), 6);
  for (size_t keep = 0; keep < 18; ++keep)
    EXPECT_EQ(exif_orientation(std::span(block).first(keep)), 1) << keep;
  block[4] = 0xff;
  block[7] = 0xff;
  EXPECT_EQ(exif_orientation(block), 1);
}

}  // namespace
}  // namespace loomix::io
