// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace loomix {

// What was measured to be fastest on this machine: answers to questions such as "Convolution (1, 64, 56, 56), ... on 2 cores".
// Kept in a file, which any number of processes may use at once. A file that is damaged, or was written on another processor
// or by another version, counts as empty and is replaced with the next answer.
class TunedChoices {
 public:
  static constexpr size_t kMost = 4096;  // answers; beyond, the oldest go

  // Reads the file, if there is one. `made_by` names processor and versions.
  TunedChoices(std::filesystem::path file, std::string made_by);
  // `name` in the folder that LOOMIX_CACHE_DIR names; empty where there is none.
  static std::filesystem::path file_in_cache(const char* name);

  bool empty() const;
  std::optional<std::string> find(const std::string& question) const;
  // Also writes the file, with what others have added to it meanwhile. A file that cannot be written is warned of once; the answer
  // holds for this process then.
  void add(const std::string& question, const std::string& answer);

 private:
  using Answers = std::deque<std::pair<std::string, std::string>>;  // the oldest first
  Answers read() const;
  void write(const Answers& answers) const;
  void keep(const std::string& question, const std::string& answer);

  const std::filesystem::path file_;
  const std::string made_by_;
  mutable std::mutex mutex_;  // guards all below
  Answers answers_;
  std::map<std::string, std::string> by_question_;
  bool warned_ = false;
};

}  // namespace loomix
