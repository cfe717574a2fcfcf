// SPDX-License-Identifier: Apache-2.0
#include "io/record/writer.h"

#include <sys/resource.h>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "record_test.h"

namespace loomix::io {
namespace {

TEST(Writer, TellsWhereTheNextRecordBegins) {
  const TempFolder folder;
  RecordWriter writer(folder.file("r"));
  EXPECT_EQ(writer.tell(), 0);
  writer.write(text("abc"));
  EXPECT_EQ(writer.tell(), 12);
  writer.write(Record(1 << 20, 1));
  EXPECT_EQ(writer.tell(), 12 + 8 + (1 << 20));
  writer.write({});
  writer.flush();
  EXPECT_EQ(std::filesystem::file_size(folder.file("r")), writer.tell());
  writer.close();
  EXPECT_THROW(writer.write(text("abc")), StateError);
}

TEST(Writer, RefusesWhatTheFormatCannotHold) {
  const TempFolder folder;
  RecordWriter writer(folder.file("r"));
  const Bytes too_long(static_cast<const uint8_t*>(nullptr), size_t{kMaxRecordBytes} + 1);
  EXPECT_THROW(writer.write(too_long), ValueError);
  EXPECT_THROW(RecordWriter(folder.file("no/such/r")), FileError);
  EXPECT_THROW(RecordWriter("http://x/y"), ValueError);
}

TEST(Writer, GoesOnWhereARecordEnded) {
  const TempFolder folder;
  const std::string path = folder.file("r");
  {
    RecordWriter writer(path);
    for (const char* record : {"one", "two", "three"}) writer.write(text(record));
  }
  RecordWriter writer(path, 24);
  EXPECT_EQ(writer.tell(), 24);
  writer.write(text("four"));
  writer.close();
  RecordReader reader(open_source(path));
  const auto found = read_all(reader);
  ASSERT_EQ(found.size(), 3);
  EXPECT_EQ(found[2].record, text("four"));
  EXPECT_THROW(RecordWriter(path, 1000), ValueError);
  EXPECT_THROW(RecordWriter(path, 3), ValueError);
}

TEST(Writer, AWriteThatFailsLeavesWholeRecords) {
  const TempFolder folder;
  const std::string path = folder.file("r");
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  for (const size_t size : {1000, 300'000}) {
    const rlimit small = {1'000'000, before.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
    RecordWriter writer(path);
    EXPECT_THROW(
        {
          for (int i = 0; i < 2000; ++i) writer.write(Record(size, 3));
        },
        FileError);
    RecordReader reader(open_source(path));
    EXPECT_GT(read_all(reader).size(), 2);
    EXPECT_EQ(reader.damage_count(), 0);
    setrlimit(RLIMIT_FSIZE, &before);
    writer.write(text("goes on"));
    writer.close();
    RecordReader again(open_source(path));
    EXPECT_EQ(read_all(again).back().record, text("goes on"));
  }
  std::signal(SIGXFSZ, handler);
}

}  // namespace
}  // namespace loomix::io
