// SPDX-License-Identifier: Apache-2.0
//
// A file, all numbers little-endian:
//
//   "LXSNAP03"  crc (4)  bytes of the head (4)  of the file (8) | head: a SnapshotHead | arrays, each at a multiple of 64
//
// The CRC-32C is that of everything behind it.
#include "kvstore/cluster/snapshot.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "base/log.h"
#include "ndarray/byte_source.h"

namespace loomix::kvstore {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "LXSNAP03";
constexpr std::string_view kAnyMagic = "LXSNAP";  // of all releases
constexpr size_t kCrcEnd = 12;
constexpr size_t kBegin = 24;  // bytes before the head
constexpr size_t kAlign = 64;

// Eight bytes at a time (Kounavis and Berry, 2005).
class Crc32c {
 public:
  void add(std::string_view bytes) {
    static const Table table = make_table();
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
      uint64_t word = 0;
      std::memcpy(&word, at, 8);
      word ^= value_;
      value_ = 0;
      for (size_t i = 0; i < 8; ++i) value_ ^= table[7 - i][(word >> (8 * i)) & 255];
    }
    for (; left > 0; --left) value_ = table[0][(value_ ^ *at++) & 255] ^ (value_ >> 8);
  }
  uint32_t value() const { return ~value_; }

 private:
  using Table = std::array<std::array<uint32_t, 256>, 8>;
  static Table make_table() {
    Table table;
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0x82F63B78u : 0);
      table[0][byte] = rest;
    }
    for (size_t step = 1; step < 8; ++step) {
      for (size_t byte = 0; byte < 256; ++byte)
        table[step][byte] = table[0][table[step - 1][byte] & 255] ^ (table[step - 1][byte] >> 8);
    }
    return table;
  }
  uint32_t value_ = ~0u;
};

std::string_view text_of(const NDArray& array) {
  return {static_cast<const char*>(array.view().data), static_cast<size_t>(array.bytes())};
}

size_t padding(size_t at) { return (kAlign - at % kAlign) % kAlign; }

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  detail::throw_error<FileError>(
      "[KVStore] the snapshot {} {}. Without the files of its round the cluster goes on from an earlier one, "
      "if all "
      "groups have one.",
      path, why);
}

void sync_folder(const std::string& folder) {
  const int file = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (file < 0) return;
  fsync(file);
  close(file);
}

// "group-G-round-R-epoch-E.snapshot"
std::optional<SnapshotName> name_of_file(const std::string& name) {
  constexpr std::string_view kGroup = "group-", kRound = "-round-", kEpochOf = "-epoch-", kEnd = ".snapshot";
  const char* at = name.data();
  const char* const end = at + name.size();
  const auto word = [&](std::string_view text) {
    const bool there = std::string_view(at, end).starts_with(text);
    if (there) at += text.size();
    return there;
  };
  const auto number = [&](auto& value) {
    const auto [next, error] = std::from_chars(at, end, value);
    at = next;
    return error == std::errc() && value >= 0;
  };
  SnapshotName found;
  int64_t group = 0;
  if (!word(kGroup) || !number(group) || !word(kRound) || !number(found.round) || !word(kEpochOf) ||
      !number(found.epoch) || !word(kEnd) || at != end)
    return std::nullopt;
  found.group = static_cast<size_t>(group);
  return found;
}

// Under its name only where there is none such: a link fails where there is, and a renaming would not.
bool put_in_place(const std::string& part, const std::string& path) {
  std::error_code error;
  fs::create_hard_link(part, path, error);
  const bool links = !error || error == std::errc::file_exists;
  const bool first = links ? !error : !fs::exists(path);
  if (!links && first) fs::rename(part, path);  // a file system without links
  if (links || !first) fs::remove(part, error);
  return first;
}

}  // namespace

std::string snapshot_path(const std::string& folder, const SnapshotName& name) {
  return (fs::path(folder) /
          fmt::format("group-{}-round-{}-epoch-{}.snapshot", name.group, name.round, name.epoch))
      .string();
}

bool write_snapshot(const std::string& folder, const SnapshotName& name, const ShardGroup::Picture& picture) {
  messages::SnapshotHead told;
  told.set_groups(name.groups);
  told.set_workers(name.workers);
  told.set_group(name.group);
  told.set_epoch(name.epoch);
  told.set_round(name.round);
  for (const NDArray& array : picture.arrays) told.add_array_bytes(static_cast<uint64_t>(array.bytes()));
  *told.mutable_state() = picture.state;
  std::string head(kMagic);
  head.resize(kBegin);  // CRC and lengths come last
  told.AppendToString(&head);
  const auto head_bytes = static_cast<uint32_t>(head.size() - kBegin);

  static constexpr std::array<char, kAlign> kZeros = {};
  std::vector<std::string_view> pieces = {head};
  size_t bytes = head.size();
  const auto append = [&](std::string_view piece) {
    pieces.push_back(piece);
    bytes += piece.size();
  };
  for (const NDArray& array : picture.arrays) {
    append({kZeros.data(), padding(bytes)});
    append(text_of(array));
  }
  std::memcpy(head.data() + kCrcEnd, &head_bytes, 4);
  std::memcpy(head.data() + 16, &bytes, 8);
  Crc32c crc;
  crc.add(std::string_view(head).substr(kCrcEnd));
  for (size_t i = 1; i < pieces.size(); ++i) crc.add(pieces[i]);
  const uint32_t sum = crc.value();
  std::memcpy(head.data() + kMagic.size(), &sum, 4);
  const std::string path = snapshot_path(folder, name);
  const std::string part = fmt::format("{}.{:x}", path, comm::new_incarnation());
  write_file_whole(part, pieces);
  const bool first = put_in_place(part, path);
  sync_folder(folder);
  return first;
}

GroupCopy read_snapshot(const std::string& folder, const SnapshotName& name) {
  const std::string path = snapshot_path(folder, name);
  ByteSource file = ByteSource::file(path);
  const auto size = static_cast<size_t>(file.left());
  char begin[kBegin] = {};
  if (size < kBegin) refuse(path, fmt::format("is truncated: it has {} bytes", size));
  file.read(begin, kBegin, "the head of a snapshot");
  const std::string_view magic(begin, kMagic.size());
  if (magic != kMagic) {
    refuse(path, magic.starts_with(kAnyMagic)
                     ? fmt::format("was written by another release: its format is {}, and {} is read", magic,
                                   kMagic)
                     : "is no snapshot: it begins with other bytes");
  }
  uint32_t sum = 0, head_bytes = 0;
  uint64_t length = 0;
  std::memcpy(&sum, begin + kMagic.size(), 4);
  std::memcpy(&head_bytes, begin + kCrcEnd, 4);
  std::memcpy(&length, begin + 16, 8);
  if (length != size)
    refuse(path, fmt::format("is truncated or was altered: it has {} bytes and tells of {}", size, length));
  comm::Buffer whole = comm::Buffer::allocate(size);
  std::memcpy(whole.writable(), begin, kBegin);
  file.read(whole.writable() + kBegin, static_cast<int64_t>(size - kBegin), "a snapshot");
  Crc32c crc;
  crc.add(whole.text().substr(kCrcEnd));
  if (crc.value() != sum) refuse(path, "was altered: its checksum is wrong");
  if (head_bytes > std::min<size_t>(size - kBegin, INT32_MAX))
    refuse(path, fmt::format("tells of a head of {} bytes", head_bytes));

  messages::SnapshotHead head;
  if (!head.ParseFromArray(whole.data() + kBegin, static_cast<int>(head_bytes)))
    refuse(path, "has a head that cannot be read");
  if (head.groups() != name.groups || head.workers() != name.workers) {
    refuse(path,
           fmt::format("is of a cluster with {} groups (servers) and {} workers, and this one has {} and {}",
                       head.groups(), head.workers(), name.groups, name.workers));
  }
  if (head.group() != name.group || head.epoch() != name.epoch || head.round() != name.round)
    refuse(path, "is of another group, epoch or round than its name says");
  GroupCopy copy;
  copy.state = std::move(*head.mutable_state());
  size_t at = kBegin + head_bytes;
  for (const uint64_t bytes : head.array_bytes()) {
    at += padding(at);
    if (at > size || bytes > size - at) refuse(path, "tells of more bytes than it has");
    copy.arrays.push_back(whole.slice(at, bytes));
    at += bytes;
  }
  return copy;
}

SnapshotList list_snapshots(const std::string& folder) {
  SnapshotList list;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (const auto found = name_of_file(entry.path().filename().string()))
      list[{found->epoch, found->round}].insert(found->group);
  }
  LOOMIX_CHECK(!error, FileError,
               "[KVStore] the folder of snapshots, {}, cannot be read: {} (LOOMIX_KV_SNAPSHOT_DIR).", folder,
               error.message());
  return list;
}

int64_t epoch_after_snapshots(const std::string& folder) noexcept {
  try {
    const SnapshotList list = list_snapshots(folder);
    return list.empty() ? 0 : list.rbegin()->first.first + 1;
  } catch (const std::exception&) {  // no folder yet, or one that is no good, which first_state() tells
    return 0;
  }
}

Snapshots::Snapshots(Runtime& runtime, SnapshotOptions options, size_t groups, size_t workers)
    : runtime_(runtime), writing_(std::make_shared<Writing>()) {
  writing_->options = std::move(options);
  writing_->groups = groups;
  writing_->workers = workers;
  writing_->busy = std::vector<std::atomic<bool>>(groups);
}

// All servers find the same: files are written when workers push, and these have joined all groups before.
std::optional<SnapshotList::key_type> Snapshots::round_to_restore() const {
  const SnapshotOptions& options = writing_->options;
  const SnapshotList list = list_snapshots(options.folder);
  if (list.empty()) return std::nullopt;
  LOOMIX_CHECK(options.restore, FileError,
               "[KVStore] the folder {} has snapshots of an earlier run, up to round {}. Set "
               "LOOMIX_KV_RESTORE=1 to go "
               "on from there, or LOOMIX_KV_SNAPSHOT_DIR to another folder.",
               options.folder, list.rbegin()->first.second);
  for (auto round = list.rbegin(); round != list.rend(); ++round) {
    if (round->second.size() == writing_->groups && *round->second.rbegin() == writing_->groups - 1)
      return round->first;
  }
  const auto& [newest, groups] = *list.rbegin();
  detail::throw_error<FileError>(
      "[KVStore] no round has a snapshot of all {} groups in the folder {}; the newest, {}, has {} of them. "
      "All servers must "
      "see the same folder (LOOMIX_KV_SNAPSHOT_DIR), and be as many as before.",
      writing_->groups, options.folder, newest.second, groups.size());
}

std::optional<GroupCopy> Snapshots::first_state(size_t group) {
  const SnapshotOptions& options = writing_->options;
  if (options.folder.empty()) return std::nullopt;
  std::error_code error;
  fs::create_directories(options.folder, error);
  const auto newest = round_to_restore();
  if (!newest) return std::nullopt;
  const auto [epoch, round] = *newest;
  GroupCopy state = read_snapshot(options.folder, {writing_->groups, writing_->workers, group, epoch, round});
  // A round that not all groups had is done once more; what is left of it must not be mixed with that.
  for (const auto& [later, groups] : list_snapshots(options.folder)) {
    if (later > *newest && groups.contains(group))
      fs::remove(snapshot_path(options.folder, {.group = group, .epoch = later.first, .round = later.second}),
                 error);
  }
  log(LogLevel::info, "[KVStore] group {} goes on from round {}, a snapshot in {}.", group, round,
      options.folder);
  return state;
}

void Snapshots::write(size_t group, int64_t epoch, int64_t round, ShardGroup::Picture picture) {
  if (writing_->busy[group].exchange(true)) {
    log(LogLevel::warning,
        "[KVStore] round {} of group {} gets no snapshot: the one before is still being written.", round,
        group);
    return;
  }
  ArrayTags tags;
  for (const NDArray& array : picture.arrays) tags.read(array);
  engine::TaskInfo info;
  info.lane = engine::Lane::io;
  info.may_inline = false;
  info.describe.name = [](const void*) { return "kvstore_write_snapshot"; };
  auto task = [writing = writing_, group, epoch, round,
               picture = std::make_unique<ShardGroup::Picture>(std::move(picture))](engine::RunContext&) {
    try {
      if (!write_snapshot(writing->options.folder, {writing->groups, writing->workers, group, epoch, round},
                          *picture))
        log(LogLevel::warning, "[KVStore] round {} of group {} has a snapshot already, which stays.", round,
            group);
      drop_older(*writing, group);
    } catch (const std::exception& error) {  // training goes on without
      log(LogLevel::error, "[KVStore] round {} of group {} gets no snapshot: {}", round, group, error.what());
    }
    writing->busy[group] = false;
  };
  runtime_.engine().push(std::move(info), tags.tags(), std::move(task));
}

void Snapshots::drop_older(const Writing& writing, size_t group) {
  const SnapshotList list = list_snapshots(writing.options.folder);
  int whole = 0;
  for (auto round = list.rbegin(); round != list.rend(); ++round) {
    std::error_code error;
    const auto [epoch, number] = round->first;
    if (whole == 2 && round->second.contains(group))
      fs::remove(snapshot_path(writing.options.folder, {.group = group, .epoch = epoch, .round = number}),
                 error);
    if (whole < 2 && round->second.size() == writing.groups) ++whole;
  }
}

}  // namespace loomix::kvstore
