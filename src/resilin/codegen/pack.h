// src/resilin/codegen/pack.h -- Internal: many kernel images in one file, which ships with the build.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "resilin/base/file.h"
#include "resilin/codegen/image.h"

namespace resilin {

/// A pack file, mapped read-only.
class Pack {
 public:
  /// Null when the file is missing or is no sound pack (a warning in the log).
  static std::unique_ptr<const Pack> open(const std::string& path);

  /// The checked image of `key`, valid as long as the pack; empty when there is none. `refused` becomes true when one was there and is damaged.
  std::string_view find(const KernelKey& key, bool& refused) const;
  i64 size() const { return count_; }

 private:
  explicit Pack(MappedFile file) : file_(std::move(file)) {}
  std::string check();
  std::string_view bytes() const { return {reinterpret_cast<const char*>(file_.bytes().data()), file_.bytes().size()}; }

  MappedFile file_;
  i64 count_ = 0;
};

/// Writes a pack of these images, readable by all users; of images of one key the first stays.
void write_pack(const std::string& path, std::span<const std::string> images);

}  // namespace resilin
