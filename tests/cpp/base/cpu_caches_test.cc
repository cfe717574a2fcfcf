// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_caches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace loomix {
namespace {

TEST(CpuCaches, SizesAreWholeNumbersWithAUnit) {
  const CacheSizes sizes = parse_cache_sizes("48K,1280K,30M");
  EXPECT_EQ(sizes.first, 48 * 1024);
  EXPECT_EQ(sizes.second, 1280 * 1024);
  EXPECT_EQ(sizes.last, 30 * 1024 * 1024);
  EXPECT_EQ(parse_cache_sizes("32K,1M,1M").last, 1 << 20);  // no third cache
}

TEST(CpuCaches, OtherTextsAreErrors) {
  for (const char* text :
       {"", "32K", "32K,1M", "32K,1M,32M,1G", "32K,1M,32M,", "32,1M,32M", "32K,1T,32M", "K,M,G", "1M,32K,32M",
        "-1K,1M,2M", "0K,1M,2M", "99999999999K,1M,2M", "32K, 1M,32M"}) {
    try {
      parse_cache_sizes(text);
      ADD_FAILURE() << text;
    } catch (const ValueError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("expected the sizes of the first, second and last cache"))
          << text;
    }
  }
}

TEST(CpuCaches, TheMachineHasSome) {
  const CacheSizes& sizes = cache_sizes();
  EXPECT_GE(sizes.first, 8 << 10);
  EXPECT_GE(sizes.second, sizes.first);
  EXPECT_GE(sizes.last, sizes.second);
}

}  // namespace
}  // namespace loomix
