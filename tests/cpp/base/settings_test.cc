// SPDX-License-Identifier: Apache-2.0
#include "base/settings.h"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu_level.h"
#include "base/log.h"
#include "base/nearest.h"

namespace loomix {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Settings, DefaultsWithoutVariables) {
  const SettingsResult result = read_settings(TextPairs{{"PATH", "/bin"}, {"MXNET_SOMETHING", "1"}});
  EXPECT_EQ(result.settings.engine_type, "ThreadedEngine");
  EXPECT_TRUE(result.settings.inplace);
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(Settings, ReadsVariablesAndAliases) {
  const SettingsResult result = read_settings(TextPairs{{"LOOMIX_ENGINE_TYPE", "NaiveEngine"},
                                                        {"MXNET_CPU_WORKER_NTHREADS", "3"},
                                                        {"LOOMIX_INPLACE", "0"},
                                                        {"MXNET_MKLDNN_ENABLED", "0"}});
  EXPECT_EQ(result.settings.engine_type, "NaiveEngine");
  EXPECT_EQ(result.settings.cpu_worker_nthreads, 3);
  EXPECT_FALSE(result.settings.inplace);
  EXPECT_FALSE(result.settings.dnnl);
  EXPECT_THAT(result.warnings, IsEmpty());
}

TEST(Settings, OurNameWins) {
  const TextPairs both = {{"MXNET_CPU_WORKER_NTHREADS", "3"}, {"LOOMIX_CPU_WORKER_NTHREADS", "5"}};
  EXPECT_EQ(read_settings(both).settings.cpu_worker_nthreads, 5);
}

TEST(Settings, ReadsOpenMpsNumberOfThreads) {
  EXPECT_EQ(read_settings(TextPairs{{"OMP_NUM_THREADS", "3"}}).settings.cpu_worker_nthreads, 3);
  EXPECT_EQ(read_settings(TextPairs{{"OMP_NUM_THREADS", "4,2"}}).settings.cpu_worker_nthreads, 4);
  EXPECT_EQ(read_settings(TextPairs{{"OMP_NUM_THREADS", "4"}, {"MXNET_OMP_MAX_THREADS", "2"}})
                .settings.cpu_worker_nthreads,
            2);
  const SettingsResult bad = read_settings(TextPairs{{"OMP_NUM_THREADS", "all"}});
  EXPECT_EQ(bad.settings.cpu_worker_nthreads, 0);
  EXPECT_THAT(bad.warnings, ElementsAre(HasSubstr("[OMP_NUM_THREADS] Invalid Parameter format")));
}

TEST(Settings, BadValuesThrowButForeignOnesWarn) {
  try {
    read_settings(TextPairs{{"LOOMIX_CPU_WORKER_NTHREADS", "many"}});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(), HasSubstr("[LOOMIX_CPU_WORKER_NTHREADS] Invalid Parameter format"));
  }
  EXPECT_THROW(read_settings(TextPairs{{"LOOMIX_ENGINE_TYPE", "Fast"}}), ValueError);
  const SettingsResult result = read_settings(TextPairs{{"MXNET_ENGINE_TYPE", "Fast"}});
  EXPECT_EQ(result.settings.engine_type, "ThreadedEngine");
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("[MXNET_ENGINE_TYPE] Invalid Input: 'Fast'")));
}

TEST(CpuLevels, ABoundIsALevelThatTheProcessorHas) {
  EXPECT_EQ(allowed_level("any", CpuLevel::avx2), CpuLevel::avx2);
  EXPECT_EQ(allowed_level("sse41", CpuLevel::avx512_bf16), CpuLevel::sse41);
  EXPECT_EQ(allowed_level("avx512", CpuLevel::avx512), CpuLevel::avx512);
  try {
    allowed_level("avx512_bf16", CpuLevel::avx2);
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_THAT(error.what(),
                HasSubstr("[LOOMIX_MAX_CPU_ISA] avx512_bf16 is asked for; this processor has no "
                          "more than avx2."));
  }
  EXPECT_THROW(allowed_level("sse41", CpuLevel::plain), ValueError);
  EXPECT_THROW(read_settings(TextPairs{{"LOOMIX_MAX_CPU_ISA", "avx10"}}), ValueError);
  EXPECT_LE(cpu_level(), processor_level());
}

TEST(Settings, ListsTakeKnownItemsOnly) {
  for (const char* text : {"", "dispatch", "fuse,dispatch", "all"})
    EXPECT_EQ(read_settings(TextPairs{{"LOOMIX_EXPLAIN", text}}).settings.explain, text);
  for (const char* text : {"fuze", "dispath", "dispatch plan"})
    EXPECT_THROW(read_settings(TextPairs{{"LOOMIX_EXPLAIN", text}}), ValueError);
  try {
    read_settings(TextPairs{{"LOOMIX_DUMP_PASSES", "prune,simplfy"}});
    FAIL();
  } catch (const ValueError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr("[LOOMIX_DUMP_PASSES] unknown item 'simplfy'. Did you mean 'simplify'? Expected some of "));
  }
}

TEST(Settings, UnknownNamesAreWarnedOfWithTheNearest) {
  EXPECT_THAT(
      read_settings(TextPairs{{"LOOMIX_ENGIN_TYPE", "NaiveEngine"}, {"LOOMIX_XYZZY", "1"}}).warnings,
      ElementsAre(
          "[settings] LOOMIX_ENGIN_TYPE is not a setting of Loomix. Did you mean 'LOOMIX_ENGINE_TYPE'?",
          "[settings] LOOMIX_XYZZY is not a setting of Loomix."));
}

TEST(Settings, DocumentIsCurrent) {
  std::ifstream file(LOOMIX_SOURCE_DIR "/docs/settings.md");
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), settings_document());
}

TEST(Log, PrintsFromTheLevelOn) {
  ASSERT_EQ(settings().log_level, "warning") << "run the tests without LOOMIX_LOG_LEVEL";
  testing::internal::CaptureStderr();
  log(LogLevel::warning, "about {}", 42);
  log(LogLevel::info, "hidden {}", 43);
  const std::string printed = testing::internal::GetCapturedStderr();
  EXPECT_THAT(printed, HasSubstr("loomix warning: about 42\n"));
  EXPECT_THAT(printed, Not(HasSubstr("hidden")));
}

TEST(Nearest, FindsNearNamesOnly) {
  const std::string_view names[] = {"kernel", "stride", "pad"};
  EXPECT_EQ(nearest("Kernal", names), "kernel");
  EXPECT_EQ(nearest("pads", names), "pad");
  EXPECT_EQ(nearest("dilation", names), "");
  EXPECT_EQ(did_you_mean("strid", names), " Did you mean 'stride'?");
  EXPECT_EQ(nearest("x", {}), "");
}

}  // namespace
}  // namespace loomix
