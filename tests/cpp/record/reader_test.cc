// SPDX-License-Identifier: Apache-2.0
#include "io/record/reader.h"

#include <fcntl.h>

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "io/record/files.h"
#include "io/record/image_record.h"
#include "io/record/index.h"
#include "record_test.h"

namespace loomix::io {
namespace {

using ::testing::HasSubstr;

std::vector<Found> expected(const std::vector<Record>& records, const Written& written) {
  std::vector<Found> found;
  for (size_t i = 0; i < records.size(); ++i) found.push_back({written.offsets[i], records[i]});
  return found;
}

template <class F>
std::string message_of(F&& function) {
  try {
    function();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Format, FindsTheMagicNumberAtMultiplesOfFourOnly) {
  for (size_t size : {0, 3, 4, 511, 512, 516, 1024, 1027, 5000}) {
    Record bytes(size, 7);
    EXPECT_FALSE(find_aligned_magic(bytes)) << size;
    for (size_t at = 0; at + 4 <= size; ++at) {
      std::memcpy(bytes.data() + at, &kMagic, 4);
      if (at % 4 == 0) {
        ASSERT_EQ(find_aligned_magic(bytes), at) << size;
        ASSERT_FALSE(find_aligned_magic(bytes, at + 4)) << size;
      } else {
        ASSERT_FALSE(find_aligned_magic(bytes)) << size << " " << at;
      }
      std::memset(bytes.data() + at, 7, 4);
    }
  }
}

TEST(Reader, ReadsBackWhatWasWritten) {
  std::mt19937 random(1);
  for (const size_t most : {9, 300, 100'000}) {
    const auto records = random_records(random, 200, most);
    const Written written = write_records(records);
    RecordReader reader(memory_source(written.bytes));
    EXPECT_EQ(read_all(reader), expected(records, written));
    EXPECT_EQ(reader.damage_count(), 0);
    EXPECT_EQ(reader.tell(), written.bytes.size());
    for (int i = 0; i < 500; ++i) {
      const size_t k = random() % records.size();
      const Bytes record = reader.read_at(written.offsets[k]);
      ASSERT_EQ(Record(record.begin(), record.end()), records[k]);
    }
  }
}

TEST(Reader, CutsAtEmbeddedMagicNumbersAsTheFormatSays) {
  Record record = text("1234");
  record.insert(record.end(), reinterpret_cast<const uint8_t*>(&kMagic),
                reinterpret_cast<const uint8_t*>(&kMagic) + 4);
  const Record want = {0x0a, 0x23, 0xd7, 0xce, 4,    0,    0, 0x20, '1', '2',
                       '3',  '4',  0x0a, 0x23, 0xd7, 0xce, 0, 0,    0,   0x60};
  EXPECT_EQ(write_records({record}).bytes, want);
}

TEST(Reader, ATruncatedFileGivesEveryWholeRecord) {
  std::mt19937 random(2);
  const auto records = random_records(random, 12, 60);
  const Written written = write_records(records);
  for (size_t size = 0; size <= written.bytes.size(); ++size) {
    RecordReader reader(memory_source(Bytes(written.bytes).first(size)), OnDamage::skip);
    const auto found = read_all(reader);
    std::vector<Found> want;
    uint64_t whole_end = 0;
    for (size_t i = 0; i < records.size(); ++i) {
      const uint64_t end = i + 1 < records.size() ? written.offsets[i + 1] : written.bytes.size();
      const uint64_t padding = round_up4(records[i].size()) - records[i].size();
      if (end - padding > size) break;  // a record that lacks only padding is whole
      want.push_back({written.offsets[i], records[i]});
      whole_end = std::min<uint64_t>(end, size);
    }
    ASSERT_EQ(found, want) << size;
    if (size == whole_end) {
      EXPECT_EQ(reader.damage_count(), 0) << size;
    } else {
      ASSERT_GE(reader.damage_count(), 1) << size;
      EXPECT_EQ(reader.damages().front().offset, whole_end);
      uint64_t lost = 0;
      for (const Damage& damage : reader.damages()) lost += damage.bytes;
      EXPECT_EQ(lost, size - whole_end);
    }
  }
}

// Every record but the one at `broken` is there, in order.
void expect_all_but(size_t broken, const std::vector<Record>& records, const std::vector<Found>& found,
                    const std::string& what) {
  size_t at = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (i == broken) continue;
    while (at < found.size() && found[at].record != records[i]) ++at;
    ASSERT_LT(at, found.size()) << what << ": record " << i << " is lost";
    ++at;
  }
  ASSERT_LE(found.size(), records.size() + 2) << what;
}

TEST(Reader, OneChangedByteCostsOneRecordAtMost) {
  std::mt19937 random(3);
  for (int round = 0; round < 3; ++round) {
    auto records = random_records(random, 10, round == 0 ? 8 : 70);
    if (round == 1) {
      for (Record& record : records)
        record.resize(24, 1);  // all lengths alike, so that wrong ones end on borders
    }
    const Written written = write_records(records);
    for (size_t i = 0; i < written.bytes.size(); ++i) {
      size_t broken = 0;
      while (broken + 1 < records.size() && written.offsets[broken + 1] <= i) ++broken;
      for (const uint8_t change : {0x01, 0x04, 0x10, 0x20, 0x40, 0x80, 0xff}) {
        Record bytes = written.bytes;
        bytes[i] ^= change;
        RecordReader reader(memory_source(bytes), OnDamage::skip);
        expect_all_but(broken, records, read_all(reader),
                       fmt::format("round {}, byte {} ^ {}", round, i, change));
      }
    }
  }
}

TEST(Reader, LostAndAddedBytesCostOneRecordAtMost) {
  std::mt19937 random(4);
  const auto records = random_records(random, 10, 70);
  const Written written = write_records(records);
  for (size_t i = 0; i < written.bytes.size(); ++i) {
    size_t broken = 0;
    while (broken + 1 < records.size() && written.offsets[broken + 1] <= i) ++broken;
    for (size_t n = 1; n <= 5; ++n) {
      Record less = written.bytes;
      const size_t border = broken + 1 < records.size() ? written.offsets[broken + 1] : less.size();
      less.erase(less.begin() + static_cast<long>(i),
                 less.begin() + static_cast<long>(std::min(i + n, border)));
      RecordReader reader(memory_source(less), OnDamage::skip);
      expect_all_but(broken, records, read_all(reader), fmt::format("byte {} - {}", i, n));
      Record more = written.bytes;
      more.insert(more.begin() + static_cast<long>(i), n, 0x5a);
      RecordReader another(memory_source(more), OnDamage::skip);
      expect_all_but(broken, records, read_all(another), fmt::format("byte {} + {}", i, n));
    }
  }
}

TEST(Reader, RaisesWithFileAndOffsetAndGoesOn) {
  const std::vector<Record> records = {text("first"), text("second one"), text("third")};
  Written written = write_records(records);
  written.bytes[written.offsets[1]] ^= 1;
  RecordReader reader(memory_source(written.bytes, "some.rec"));
  EXPECT_EQ(reader.next()->size(), 5);
  const std::string message = message_of([&] { (void)reader.next(); });
  EXPECT_THAT(message, HasSubstr("some.rec, offset 16: expected the magic number"));
  EXPECT_THAT(message, HasSubstr("at offset 36"));
  EXPECT_EQ(reader.next()->size(), 5);
  EXPECT_EQ(reader.offset(), written.offsets[2]);
  EXPECT_FALSE(reader.next());
}

TEST(Reader, WrongIndexEntriesAreErrorsAlsoWhenSkipping) {
  const Written written = write_records({text("first"), text("second one")});
  for (const OnDamage mode : {OnDamage::raise, OnDamage::skip}) {
    RecordReader reader(memory_source(written.bytes, "some.rec"), mode);
    for (const uint64_t offset : {uint64_t{1}, uint64_t{4}, uint64_t{20}, uint64_t{written.bytes.size()},
                                  uint64_t{1000}, uint64_t{1} << 61, UINT64_MAX}) {
      EXPECT_THAT(message_of([&] { reader.read_at(offset); }),
                  HasSubstr(fmt::format("begins at offset {}", offset)));
    }
    EXPECT_EQ(reader.damage_count(), 0);
    EXPECT_EQ(reader.read_at(16).size(), 10);
    EXPECT_FALSE(reader.next());
  }
}

TEST(Reader, AMagicNumberThatSomeoneDidNotCutIsKept) {
  Record bytes(8 + 12);
  const PartHeader header = PartHeader::make(PartKind::whole, 12);
  std::memcpy(bytes.data(), &header, 8);
  std::memcpy(bytes.data() + 12, &kMagic, 4);
  bytes[16] = 99;
  RecordReader reader(memory_source(bytes));
  EXPECT_EQ(reader.next()->size(), 12);
}

TEST(Reader, AShrinkingFileIsAnError) {
  const TempFolder folder;
  const std::string path = folder.file("r.rec");
  const Record record(100'000, 5);
  for (const uint64_t size : {100'008u * 10, 100'008u * 10 + 5000}) {
    RecordWriter writer(path);
    for (int i = 0; i < 20; ++i) writer.write(record);
    writer.close();
    RecordReader reader(open_source(path));
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(reader.next());
    ASSERT_EQ(truncate(path.c_str(), static_cast<off_t>(size)), 0);
    const std::string message = message_of([&] {
      while (reader.next()) {}
    });
    EXPECT_THAT(message, HasSubstr(path));
    EXPECT_THAT(message, HasSubstr(size % 100'008 == 0 ? "the file had 2000160 bytes when it was opened"
                                                       : "the file ends before that"));
  }
}

TEST(Reader, AShrinkingMapIsAnError) {
  const std::string path = fmt::format("/dev/shm/loomix-record-test-{}", getpid());
  const Record record(10'000, 5);
  RecordWriter writer(path);
  for (int i = 0; i < 20; ++i) writer.write(record);
  writer.close();
  RecordReader reader(open_source(path, {}, Order::random));
  EXPECT_EQ(reader.read_at(10'008 * 7).size(), record.size());
  EXPECT_EQ(reader.read_at(10'008 * 19).size(), record.size());
  ASSERT_EQ(truncate(path.c_str(), 10'008 * 5 + 5000), 0);
  EXPECT_EQ(reader.read_at(10'008 * 4).size(), record.size());
  EXPECT_THAT(message_of([&] { reader.read_at(10'008 * 5); }), HasSubstr("the file ends before that"));
  EXPECT_THAT(message_of([&] { reader.read_at(10'008 * 12); }), HasSubstr("the file had 200160 bytes"));
  // It has grown again: what is there now is read.
  RecordWriter again(path, 0);
  for (int i = 0; i < 40; ++i) again.write(Record(10'000, 6));
  again.close();
  for (const uint64_t i : {0, 12, 30}) EXPECT_EQ(reader.read_at(10'008 * i)[0], 6);
  std::filesystem::remove(path);
}

TEST(Reader, AHugeLengthInAPipeIsDamage) {
  Record bytes(8 + 100);
  const PartHeader header = PartHeader::make(PartKind::whole, kMaxRecordBytes);
  std::memcpy(bytes.data(), &header, 8);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(write(ends[1], bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  ::close(ends[1]);
  RecordReader reader(open_source(fmt::format("fd://{}", ends[0])), OnDamage::skip);
  ::close(ends[0]);
  EXPECT_FALSE(reader.next());
  ASSERT_EQ(reader.damages().size(), 1);
  EXPECT_EQ(reader.damages()[0].bytes, bytes.size());
}

TEST(Reader, ReadsFromAPipe) {
  std::mt19937 random(5);
  const auto records = random_records(random, 300, 30'000);
  Written written = write_records(records);
  written.bytes[written.offsets[7]] ^= 1;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::thread feeder([&] {
    for (size_t at = 0; at < written.bytes.size();) {
      const size_t n = std::min<size_t>(1 + at % 5000, written.bytes.size() - at);
      const ssize_t sent = write(ends[1], written.bytes.data() + at, n);
      if (sent <= 0) break;
      at += static_cast<size_t>(sent);
    }
    ::close(ends[1]);
  });
  RecordReader reader(open_source(fmt::format("fd://{}", ends[0])), OnDamage::skip);
  ::close(ends[0]);
  const auto found = read_all(reader);
  feeder.join();
  auto want = expected(records, written);
  want.erase(want.begin() + 7);
  EXPECT_EQ(found, want);
  EXPECT_EQ(reader.damages().front().offset, written.offsets[7]);
  EXPECT_THAT(message_of([&] { reader.read_at(0); }), HasSubstr("a pipe cannot seek"));
}

TEST(Files, PartsCoverEveryRecordOnce) {
  const TempFolder folder;
  std::mt19937 random(6);
  std::vector<std::string> uris;
  std::vector<Record> all;
  for (const size_t count : {40, 0, 1, 25}) {
    const auto records = random_records(random, count, 50);
    uris.push_back(folder.file(fmt::format("{}.rec", uris.size())));
    write_bytes(uris.back(), write_records(records).bytes);
    all.insert(all.end(), records.begin(), records.end());
  }
  for (int64_t parts = 1; parts <= 400; parts += parts < 80 ? 1 : 37) {
    std::vector<Record> joined;
    for (int64_t part = 0; part < parts; ++part) {
      RecordFiles files(uris, {.part_index = part, .num_parts = parts, .http = {}});
      while (const auto record = files.next()) joined.emplace_back(record->begin(), record->end());
      EXPECT_EQ(files.damage_count(), 0);
    }
    ASSERT_EQ(joined, all) << parts << " parts";
  }
  RecordFiles files(uris);
  for (int epoch = 0; epoch < 2; ++epoch) {
    size_t count = 0;
    while (files.next()) ++count;
    EXPECT_EQ(count, all.size());
    EXPECT_EQ(files.file(), uris.back());
    files.reset();
  }
  EXPECT_THAT(message_of([&] { RecordFiles(uris, {.part_index = 3, .num_parts = 3, .http = {}}); }),
              HasSubstr("part_index 3 of num_parts 3"));
  EXPECT_THAT(message_of([&] { RecordFiles({}); }), HasSubstr("no record file"));
}

TEST(Files, IndexedPartsCoverEveryEntryOnce) {
  for (uint64_t count : {0, 1, 7, 100}) {
    for (int64_t parts = 1; parts < 20; ++parts) {
      uint64_t at = 0;
      for (int64_t part = 0; part < parts; ++part) {
        const auto [first, last] = part_range(count, part, parts);
        EXPECT_EQ(first, at);
        at = last;
      }
      EXPECT_EQ(at, count);
    }
  }
}

TEST(Index, ReadsLinesAndNamesBadOnes) {
  const auto entries = parse_index("0\t0\n7\t16\r\n\n -3 \t 32 \n5\t48", "x.idx");
  ASSERT_EQ(entries.size(), 4);
  EXPECT_EQ(entries[2].key, -3);
  EXPECT_EQ(entries[3].offset, 48);
  EXPECT_EQ(index_line(entries[1]), "7\t16\n");
  for (const char* bad : {"1", "1\t", "a\t1", "1\t-5", "1\t2x", "1\t99999999999999999999"}) {
    EXPECT_THAT(message_of([&] { parse_index(std::string("0\t0\n") + bad, "x.idx"); }),
                HasSubstr("x.idx, line 2"))
        << bad;
  }
  EXPECT_THAT(message_of([] { read_index("/no/such.idx"); }), HasSubstr("/no/such.idx cannot be opened"));
}

TEST(ImageRecord, PacksAndParses) {
  for (const std::vector<float>& labels : {std::vector<float>{2.5f}, {1, 2, 3}, {}}) {
    const Record packed = pack_image_record(labels, 9, 7, text("picture"));
    const ImageRecord image = parse_image_record(packed);
    EXPECT_EQ(image.id, 9);
    EXPECT_EQ(image.id2, 7);
    EXPECT_EQ(image.content.size(), 7);
    for (size_t i = 0; i < labels.size(); ++i) EXPECT_EQ(image.label(i), labels[i]);
    EXPECT_EQ(image.label_count(), std::max<size_t>(labels.size(), 1));
    for (size_t size = 0; size < packed.size() - 7; ++size) {
      EXPECT_THAT(message_of([&] { parse_image_record(Bytes(packed).first(size), "x.rec, offset 0"); }),
                  HasSubstr("x.rec, offset 0"));
    }
  }
}

}  // namespace
}  // namespace loomix::io
