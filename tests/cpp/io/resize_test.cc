// SPDX-License-Identifier: Apache-2.0
#include "io/image/resize.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/cpp/io/raw_images.h"

namespace loomix::io {
namespace {

TEST(Resize, AsOpenCvDoes) {
  const auto cases = test::read_raw("resized.raw");
  ASSERT_EQ(cases.size(), 26u);
  const Image& source = cases[0].second;
  Resizer resizer;
  for (size_t i = 1; i < cases.size(); ++i) {
    const auto& [method, expected] = cases[i];
    Image out(expected.height(), expected.width(), 3);
    resizer.run(source, out, static_cast<Interpolation>(std::stoi(method)));
    EXPECT_LE(test::distance(out, expected), 1)
        << "method " << method << ", " << expected.height() << " x " << expected.width();
  }
}

// Where a pixel of the result lies on the border of two source pixels, which one OpenCV takes depends on how it rounds.
TEST(Resize, NearestOnBorders) {
  struct Case {
    int from, to, at, source;
  };
  for (const auto& [from, to, at, source] : {Case{6, 34, 17, 2}, Case{6, 94, 47, 3}, Case{9, 51, 17, 2}}) {
    Image row(1, from, 1);
    for (int i = 0; i < from; ++i) row.data()[i] = static_cast<uint8_t>(i);
    EXPECT_EQ(resize(row, 1, to, Interpolation::nearest).data()[at], source) << from << " to " << to;
  }
}

TEST(Resize, FloatsFollowBytes) {
  const auto cases = test::read_raw("resized.raw");
  const Image& source = cases[0].second;
  const std::vector<float> values(source.data(), source.data() + source.bytes());
  for (int method = 0; method < 5; ++method) {
    const Image bytes = resize(source, 20, 60, static_cast<Interpolation>(method));
    std::vector<float> out(bytes.bytes());
    Resizer().run<float>(values.data(), ptrdiff_t(source.stride()), source.height(), source.width(), 3,
                         out.data(), 20, 60, static_cast<Interpolation>(method));
    for (size_t i = 0; i < out.size(); ++i) {
      EXPECT_NEAR(std::clamp(out[i], 0.0f, 255.0f), bytes.data()[i], 1) << method << " " << i;
    }
  }
}

TEST(Resize, OtherChannelsAndSizes) {
  for (const int channels : {1, 2, 4}) {
    Image flat(3, 5, channels);
    std::fill_n(flat.data(), flat.bytes(), uint8_t{77});
    for (int method = 0; method < 5; ++method) {
      for (const int size : {1, 2, 9}) {
        const Image out = resize(flat, size, size, static_cast<Interpolation>(method));
        EXPECT_TRUE(std::all_of(out.data(), out.data() + out.bytes(), [](uint8_t v) { return v == 77; }));
      }
    }
  }
  EXPECT_THROW(resize(Image(0, 3, 3), 4, 4, Interpolation::bilinear), ShapeError);
}

TEST(Resize, NumbersOfMethods) {
  EXPECT_EQ(choose_interpolation(9, 10, 10, 20, 20, 0), Interpolation::bicubic);
  EXPECT_EQ(choose_interpolation(9, 10, 10, 5, 5, 0), Interpolation::area);
  EXPECT_EQ(choose_interpolation(9, 10, 10, 5, 20, 0), Interpolation::bilinear);
  EXPECT_EQ(choose_interpolation(10, 10, 10, 5, 20, 8), Interpolation::area);
  EXPECT_THROW(choose_interpolation(5, 1, 1, 1, 1, 0), ValueError);
}

}  // namespace
}  // namespace loomix::io
