// src/resilin/codegen/disk_cache.h -- Internal: the user's folder of kernel images, shared by all processes of the user and trusted by none.
#pragma once

#include <string>

#include "resilin/codegen/image.h"

namespace resilin {

/// What a cache knows of a key.
struct CacheAnswer {
  std::string image;     // checked; empty when there is none
  bool refused = false;  // there was an entry, and it was not what it should be
};

/// Looks the key up in `folder`. A folder or file that somebody else owns or may write is refused (a folder with one warning in the log); so is an
/// entry that check_image rejects. A missing folder holds nothing. Never throws for what lies on disk.
CacheAnswer read_cached(const std::string& folder, const KernelKey& key);

/// Adds or replaces the entry of `key` at once, so that readers see the old or the new one whole; makes the folder with mode 0700 if it is missing.
/// False when the folder is refused, read-only or full: the cache is then left as it was.
bool write_cached(const std::string& folder, const KernelKey& key, const std::string& image);

}  // namespace resilin
