// SPDX-License-Identifier: Apache-2.0
#include "ndarray/tuned_choices.h"

#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/log.h"
#include "base/settings.h"
#include "ndarray/byte_source.h"

namespace loomix {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
}  // namespace

fs::path TunedChoices::file_in_cache(const char* name) {
  const std::string folder = cache_folder();
  return folder.empty() ? fs::path() : fs::path(folder) / name;
}

TunedChoices::TunedChoices(fs::path file, std::string made_by)
    : file_(std::move(file)), made_by_(std::move(made_by)) {
  for (const auto& [question, answer] : read()) keep(question, answer);
}

TunedChoices::Answers TunedChoices::read() const {
  constexpr uintmax_t kMostBytes = 8 << 20;
  std::error_code failed;
  if (file_.empty() || fs::file_size(file_, failed) > kMostBytes || failed) return {};
  std::ifstream stream(file_, std::ios::binary);
  const std::string text{std::istreambuf_iterator(stream), {}};
  const Json json = Json::parse(std::string_view(text), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || json.value("made_by", Json()) != made_by_) return {};
  const auto list = json.find("choices");
  if (list == json.end() || !list->is_array()) return {};
  Answers answers;
  for (const Json& pair : *list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) return {};
    answers.emplace_back(pair[0].get<std::string>(), pair[1].get<std::string>());
  }
  return answers;
}

void TunedChoices::write(const Answers& answers) const {
  Json list = Json::array();
  for (const auto& [question, answer] : answers) list.push_back(Json::array({question, answer}));
  fs::create_directories(file_.parent_path());
  write_file_whole(file_.string(), Json{{"made_by", made_by_}, {"choices", list}}.dump(1) + "\n");
}

void TunedChoices::keep(const std::string& question, const std::string& answer) {
  const auto [at, is_new] = by_question_.insert_or_assign(question, answer);
  if (!is_new) std::erase_if(answers_, [&](const auto& pair) { return pair.first == question; });
  answers_.emplace_back(question, answer);
  while (answers_.size() > kMost) {
    by_question_.erase(answers_.front().first);
    answers_.pop_front();
  }
}

bool TunedChoices::empty() const {
  const std::lock_guard lock(mutex_);
  return answers_.empty();
}

std::optional<std::string> TunedChoices::find(const std::string& question) const {
  const std::lock_guard lock(mutex_);
  const auto at = by_question_.find(question);
  return at == by_question_.end() ? std::nullopt : std::optional(at->second);
}

void TunedChoices::add(const std::string& question, const std::string& answer) {
  const std::lock_guard lock(mutex_);
  for (const auto& [other, known] : read()) {
    if (!by_question_.contains(other)) keep(other, known);
  }
  keep(question, answer);
  if (file_.empty()) return;
  try {
    write(answers_);
  } catch (const std::exception& error) {  // of the file system, or FileError
    if (!std::exchange(warned_, true))
      log(LogLevel::warning, "what was measured is not kept for later processes: {}", error.what());
  }
}

}  // namespace loomix
