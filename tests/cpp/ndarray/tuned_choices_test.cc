// SPDX-License-Identifier: Apache-2.0
#include "ndarray/tuned_choices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace loomix {
namespace {

namespace fs = std::filesystem;

class TunedChoicesFile : public ::testing::Test {
 protected:
  TunedChoicesFile() : folder_(fs::temp_directory_path() / fmt::format("loomix_tuned_{}", ::getpid())) {}
  ~TunedChoicesFile() override { fs::remove_all(folder_); }
  fs::path file() const { return folder_ / "cache" / "tuned.json"; }
  std::string text() const {
    std::ifstream stream(file());
    return {std::istreambuf_iterator<char>(stream), {}};
  }
  void set_text(const std::string& text) const { std::ofstream(file()) << text; }

  const fs::path folder_;
};

TEST_F(TunedChoicesFile, AnswersOutliveTheProcess) {
  TunedChoices first(file(), "this machine");
  EXPECT_TRUE(first.empty());
  EXPECT_EQ(first.find("which?"), std::nullopt);
  first.add("which?", "this one");
  first.add("which?", "that one");
  EXPECT_EQ(first.find("which?"), "that one");
  const TunedChoices second(file(), "this machine");
  EXPECT_EQ(second.find("which?"), "that one");
  EXPECT_EQ(second.find("other?"), std::nullopt);
}

TEST_F(TunedChoicesFile, ProcessesAddToEachOther) {
  TunedChoices one(file(), "this machine"), two(file(), "this machine");
  one.add("a", "1");
  two.add("b", "2");
  one.add("c", "3");
  const TunedChoices all(file(), "this machine");
  EXPECT_EQ(all.find("a"), "1");
  EXPECT_EQ(all.find("b"), "2");
  EXPECT_EQ(all.find("c"), "3");
}

TEST_F(TunedChoicesFile, OfAnotherMachineOrDamagedIsEmpty) {
  TunedChoices(file(), "this machine").add("which?", "this one");
  const std::string good = text();
  EXPECT_TRUE(TunedChoices(file(), "another machine").empty());
  for (const std::string& bad :
       {std::string(), good.substr(0, good.size() / 2), std::string("[]"), std::string("{\"choices\": []}"),
        std::string(R"({"made_by": "this machine", "choices": {"which?": "this one"}})"),
        std::string(R"({"made_by": "this machine", "choices": [["which?", 7]]})"),
        std::string(9 << 20, ' ')}) {
    set_text(bad);
    TunedChoices choices(file(), "this machine");
    EXPECT_TRUE(choices.empty()) << bad.substr(0, 100);
    choices.add("again?", "yes");
    EXPECT_EQ(TunedChoices(file(), "this machine").find("again?"), "yes") << bad.substr(0, 100);
  }
}

TEST_F(TunedChoicesFile, TheOldestGo) {
  TunedChoices(file(), "this machine").add("first", "x");
  std::string pairs;
  for (size_t i = 0; i < TunedChoices::kMost; ++i)
    pairs += fmt::format("{}[\"q{}\", \"a\"]", i == 0 ? "" : ",", i);
  set_text(fmt::format(R"({{"made_by": "this machine", "choices": [["first", "x"], {}]}})", pairs));
  TunedChoices choices(file(), "this machine");
  EXPECT_EQ(choices.find("first"), std::nullopt);
  EXPECT_EQ(choices.find("q0"), "a");
  choices.add("last", "y");
  EXPECT_EQ(choices.find("q0"), std::nullopt);
  EXPECT_EQ(TunedChoices(file(), "this machine").find("last"), "y");
}

TEST_F(TunedChoicesFile, WhereNothingCanBeWrittenAnswersStayHere) {
  fs::create_directories(folder_);
  std::ofstream(folder_ / "cache") << "a file where the folder should be";
  TunedChoices choices(file(), "this machine");
  testing::internal::CaptureStderr();
  choices.add("which?", "this one");
  choices.add("other?", "that one");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(choices.find("which?"), "this one");
  EXPECT_EQ(log.find("not kept"), log.rfind("not kept")) << log;
  EXPECT_NE(log.find("not kept"), std::string::npos) << log;
}

}  // namespace
}  // namespace loomix
