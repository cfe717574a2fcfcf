// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/cpp/c_api/c_api_test.h"

namespace loomix::c_api_test {
namespace {

LoomixKey key(const char* name) { return {name, 0}; }

TEST(CApiStores, AddUpAndReplace) {
  LoomixStore store = nullptr;
  expect_ok(LoomixStoreCreate("local", &store));
  const char* type = nullptr;
  int rank = -1, workers = -1;
  expect_ok(LoomixStoreGetInfo(store, &type, &rank, &workers));
  EXPECT_STREQ(type, "local");
  EXPECT_EQ(rank, 0);
  EXPECT_EQ(workers, 1);
  const LoomixKey text = key("3"), number{nullptr, 3};
  const LoomixArray value = make_array(shape({2}), {1, 2}), out = make_array(shape({2}), {0, 0});
  expect_ok(LoomixStoreInit(store, &text, value));
  expect_error(LoomixStorePull(store, &number, 1, &out, 0), "3");
  const LoomixArray two[] = {value, value};
  expect_ok(LoomixStorePush(store, &text, 2, two, 0));
  expect_ok(LoomixStorePull(store, &text, 1, &out, 0));
  EXPECT_EQ(values(out), (std::vector<float>{2, 4}));
  expect_ok(LoomixStoreBarrier(store));
  expect_ok(LoomixFree(store));
}

TEST(CApiStores, TheUpdaterChangesValues) {
  LoomixStore store = nullptr;
  expect_ok(LoomixStoreCreate("device", &store));
  const LoomixKey name{nullptr, 5};
  const LoomixArray value = make_array(shape({1}), {10}), push = make_array(shape({1}), {2});
  expect_ok(LoomixStoreInit(store, &name, value));
  int calls = 0;
  const auto updater = [](const LoomixKey* of, LoomixArray sum, LoomixArray stored, void* context) {
    const int number = ++*static_cast<int*>(context);
    EXPECT_EQ(of->name, nullptr);
    EXPECT_EQ(of->number, 5);
    const LoomixArray inputs[] = {stored, sum};
    size_t count = 1;
    const LoomixArray* out = &stored;
    const int code =
        LoomixOperatorInvoke(number < 2 ? "elemwise_sub" : "no_such", 2, inputs, nullptr, &count, &out);
    LoomixFree(sum);
    LoomixFree(stored);
    return code;
  };
  expect_ok(LoomixStoreSetUpdater(store, updater, &calls));
  expect_ok(LoomixStorePush(store, &name, 1, &push, 0));
  expect_ok(LoomixStorePull(store, &name, 1, &value, 0));
  EXPECT_EQ(values(value), std::vector<float>{8});
  LoomixStorePush(store, &name, 1, &push, 0);
  EXPECT_EQ(calls, 2);
}

TEST(CApiStores, BadInputIsAnError) {
  LoomixStore store = nullptr;
  expect_error(LoomixStoreCreate("cloud", &store), "cloud");
  expect_ok(LoomixStoreCreate("local", &store));
  const LoomixKey name = key("a");
  const LoomixArray value = make_array(shape({2}), {1, 2}), other = make_array(shape({3}), {1, 2, 3});
  expect_error(LoomixStoreInit(store, nullptr, value), "key is null");
  expect_ok(LoomixStoreInit(store, &name, value));
  expect_error(LoomixStoreInit(store, &name, value), "a");
  expect_error(LoomixStorePush(store, &name, 1, &other, 0), "(3,)");
  expect_error(LoomixStorePush(store, &name, 0, nullptr, 0), "no arrays");
  expect_error(LoomixStoreSetOptimizer(store, "sgd", nullptr), "no servers");
  expect_error(LoomixStoreSetCompression(store, Pairs({{"type", "zip"}}).get()), "zip");
  expect_error(LoomixStoreServe(), "role");
}

class CApiIterators : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& bytes) const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  // Five images of 2 x 2 whose pixels are 64 times their number.
  std::string images(char count = 5) const {
    std::string bytes{0, 0, 8, 3, 0, 0, 0, count, 0, 0, 0, 2, 0, 0, 0, 2};
    for (int i = 0; i < 5; ++i) bytes += std::string(4, static_cast<char>(i * 32));
    return write("images", bytes);
  }
  std::string labels() const { return write("labels", std::string{0, 0, 8, 1, 0, 0, 0, 5, 0, 1, 2, 3, 4}); }
  static LoomixIterator make(const char* name, const Pairs& pairs) {
    LoomixIterator iterator = nullptr;
    expect_ok(LoomixIteratorCreate(name, pairs.get(), &iterator));
    return iterator;
  }
  static bool next(LoomixIterator iterator) {
    int more = -1;
    expect_ok(LoomixIteratorNext(iterator, &more));
    return more == 1;
  }
  static LoomixBatch batch(LoomixIterator iterator) {
    LoomixBatch result{};
    expect_ok(LoomixIteratorGetBatch(iterator, &result));
    return result;
  }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() /
      (std::string("loomix_c_api_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CApiIterators, MnistLeavesOutWhatDoesNotFillABatch) {
  const std::string image = images(), label = labels();
  const Pairs pairs{
      {"image", image.c_str()}, {"label", label.c_str()}, {"batch_size", "2"}, {"shuffle", "0"}};
  const LoomixIterator iterator = make("MNISTIter", pairs);
  for (int pass = 0; pass < 2; ++pass) {
    ASSERT_TRUE(next(iterator));
    ASSERT_TRUE(next(iterator));
    const LoomixBatch second = batch(iterator);
    EXPECT_EQ(second.pad, 0);
    ASSERT_EQ(second.indices, 2u);
    EXPECT_EQ(second.index[1], 3u);
    LoomixArrayInfo info{};
    expect_ok(LoomixArrayGetInfo(second.data, &info));
    EXPECT_EQ(info.shape.axes, 4);
    EXPECT_EQ(values(second.data), (std::vector<float>{.25, .25, .25, .25, .375, .375, .375, .375}));
    EXPECT_EQ(values(second.label), (std::vector<float>{2, 3}));
    EXPECT_FALSE(next(iterator));
    LoomixBatch none{};
    expect_error(LoomixIteratorGetBatch(iterator, &none), "no batch");
    expect_ok(LoomixIteratorReset(iterator));
  }
}

TEST_F(CApiIterators, MnistShufflesBySeedAndReadsParts) {
  const std::string image = images(), label = labels();
  const auto first = [&](const char* seed, const char* part) {
    const LoomixIterator iterator = make("MNISTIter", {{"image", image.c_str()},
                                                       {"label", label.c_str()},
                                                       {"batch_size", "2"},
                                                       {"flat", "True"},
                                                       {"seed", seed},
                                                       {"num_parts", "2"},
                                                       {"part_index", part}});
    EXPECT_TRUE(next(iterator));
    return values(batch(iterator).label);
  };
  EXPECT_EQ(first("1", "1"), first("1", "1"));
  for (const float label_of_first : first("1", "0")) EXPECT_LT(label_of_first, 2);
  for (const float label_of_second : first("1", "1")) EXPECT_GE(label_of_second, 2);
}

// The labels, compressed with gzip.
TEST_F(CApiIterators, MnistReadsCompressedFiles) {
  const char compressed[] =
      "\037\213\010\000\000\000\000\000\002\003\143\140\340\140\144\140\140\140\145\140"
      "\144\142\146\001\000\233\171\300\235\015\000\000\000";
  const std::string bytes(compressed, sizeof compressed - 1);
  const std::string image = images(), label = write("labels.gz", bytes);
  const LoomixIterator iterator = make("MNISTIter", {{"image", image.c_str()},
                                                     {"label", label.c_str()},
                                                     {"batch_size", "5"},
                                                     {"shuffle", "0"},
                                                     {"dtype", "int32"}});
  ASSERT_TRUE(next(iterator));
  int32_t numbers[5] = {};
  expect_ok(LoomixArrayCopyToHost(batch(iterator).label, numbers, sizeof numbers));
  EXPECT_THAT(numbers, ::testing::ElementsAre(0, 1, 2, 3, 4));
  std::string damaged = bytes;
  damaged[bytes.size() - 8] ^= 1;  // the checksum
  for (const std::string& broken : {bytes.substr(0, bytes.size() - 12), damaged}) {
    const std::string path = write("broken.gz", broken);
    LoomixIterator none = nullptr;
    expect_error(LoomixIteratorCreate(
                     "MNISTIter", Pairs({{"image", image.c_str()}, {"label", path.c_str()}}).get(), &none),
                 "broken.gz");
  }
}

TEST_F(CApiIterators, DamagedMnistFilesAreErrors) {
  const std::string label = labels(), whole = images(), longer = images(6);
  LoomixIterator iterator = nullptr;
  const auto create = [&](const std::string& image) {
    return LoomixIteratorCreate("MNISTIter",
                                Pairs({{"image", image.c_str()}, {"label", label.c_str()}}).get(), &iterator);
  };
  expect_error(create(longer), "header tells of 24");
  expect_error(create(label), "not an idx file");
  expect_error(create(write("short", std::string{0, 0, 8, 3, 0, 0})), "ends inside its header");
  expect_error(create(write("none", "")), "not an idx file");
  expect_error(create(write("bomb", std::string("\0\0\10\3", 4) + std::string(12, '\xff'))), "has size");
  expect_error(create((folder_ / "missing").string()), "missing");
  EXPECT_EQ(iterator, nullptr);
}

TEST_F(CApiIterators, CsvRoundsAndPads) {
  const std::string data = write("data.csv", "1, 2\n\n3,4\r\n+5,6e0\n"),
                    label = write("label.csv", "7\n8\n9\n");
  const char* round = "1";
  const LoomixIterator rounded = make("CSVIter", {{"data_csv", data.c_str()},
                                                  {"data_shape", "(2,)"},
                                                  {"label_csv", label.c_str()},
                                                  {"batch_size", "2"},
                                                  {"round_batch", round}});
  ASSERT_TRUE(next(rounded) && next(rounded));
  const LoomixBatch last = batch(rounded);
  EXPECT_EQ(last.pad, 1);
  EXPECT_EQ(values(last.data), (std::vector<float>{5, 6, 1, 2}));
  EXPECT_EQ(values(last.label), (std::vector<float>{9, 7}));
  EXPECT_FALSE(next(rounded));
  expect_ok(LoomixIteratorReset(rounded));
  ASSERT_TRUE(next(rounded));
  EXPECT_EQ(values(batch(rounded).data), (std::vector<float>{3, 4, 5, 6}));

  const LoomixIterator padded = make(
      "CSVIter",
      {{"data_csv", data.c_str()}, {"data_shape", "(2,)"}, {"batch_size", "2"}, {"round_batch", "False"}});
  ASSERT_TRUE(next(padded) && next(padded));
  EXPECT_EQ(values(batch(padded).data), (std::vector<float>{5, 6, 3, 4}));
  EXPECT_EQ(values(batch(padded).label), (std::vector<float>{0, 0}));
}

TEST_F(CApiIterators, BadCsvFilesAreErrors) {
  LoomixIterator iterator = nullptr;
  const auto create = [&](const std::string& path, const char* of = "(2,)") {
    return LoomixIteratorCreate(
        "CSVIter", Pairs({{"data_csv", path.c_str()}, {"data_shape", of}, {"batch_size", "2"}}).get(),
        &iterator);
  };
  expect_error(create(write("a.csv", "1,2\n3\n")), "line 2 of");
  expect_error(create(write("b.csv", "1,2,3\n")), "3 values");
  expect_error(create(write("c.csv", "1,two\n")), "'two'");
  expect_error(create(write("d.csv", "")), "no rows");
  expect_error(create(write("e.csv", "1,\n")), "''");
  expect_error(create("/nonexistent.csv"), "/nonexistent.csv");
  expect_error(create(write("f.csv", "1,2\n"), "(0,)"), "(0,)");
}

TEST_F(CApiIterators, UnknownNamesAndParametersAreErrors) {
  LoomixIterator iterator = nullptr;
  expect_error(LoomixIteratorCreate("PNGIter", nullptr, &iterator), "MNISTIter");
  expect_error(LoomixIteratorCreate("CSVIter", nullptr, &iterator), "data_csv");
  expect_error(LoomixIteratorCreate("MNISTIter", Pairs({{"batches", "1"}}).get(), &iterator), "batches");
  expect_error(LoomixIteratorCreate("MNISTIter", Pairs({{"batch_size", "0"}}).get(), &iterator),
               "batch_size");
  expect_error(
      LoomixIteratorCreate(
          "ImageRecordIter",
          Pairs({{"path_imgrec", "/nonexistent.rec"}, {"data_shape", "(3,8,8)"}, {"batch_size", "1"}}).get(),
          &iterator),
      "/nonexistent.rec");
  expect_error(LoomixIteratorReset(nullptr), "null");
}

}  // namespace
}  // namespace loomix::c_api_test
