// src/resilin/dist/recorder/recorder_file.h -- Internal: a recorder file while its rank writes it: mapped, locked, its words atomic.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "resilin/dist/recorder/format.h"

namespace resilin::dist {

/// A word of the mapping, which several threads write and anybody reads.
inline std::atomic_ref<std::uint64_t> live_word(std::uint64_t& word) { return std::atomic_ref<std::uint64_t>(word); }

/// The file, made under another name and renamed when its header stands, so that no reader sees half a header. Its pages are there from
/// the beginning. The lock on it ends with the process.
class RecorderFile {
 public:
  /// IoError when the folder or the file cannot be made.
  RecorderFile(const std::string& path, const FileHeader& header);
  ~RecorderFile();
  RecorderFile(const RecorderFile&) = delete;
  RecorderFile& operator=(const RecorderFile&) = delete;

  const std::string& path() const { return path_; }
  /// A child made by fork has no mapping.
  bool is_forked() const noexcept;

  LiveState& live() const { return *reinterpret_cast<LiveState*>(base_ + layout_.live); }
  PeerState& peer(std::size_t rank) const { return reinterpret_cast<PeerState*>(base_ + layout_.peers)[rank]; }
  std::span<std::uint64_t> group_slot(std::size_t index) const;
  std::uint64_t* record_slot(std::uint64_t index) const {
    return reinterpret_cast<std::uint64_t*>(base_ + layout_.records) + index * (sizeof(StoredRecord) / 8);
  }
  std::span<const std::byte> mapping() const { return {base_, layout_.total}; }

 private:
  void map(int descriptor);

  std::string path_;
  FileLayout layout_;
  std::byte* base_ = nullptr;
  int descriptor_ = -1;
  std::uint64_t forks_ = 0;  // of this process when the file was made
};

}  // namespace resilin::dist
