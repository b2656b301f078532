// src/resilin/dist/wire/identity.h -- Internal: what both ends of a connection must have in common.
#pragma once

#include <cstdint>
#include <string>
#include <tuple>

#include "resilin/base/reflect.h"

namespace resilin::dist {

/// Sent when a connection opens; two ends whose identities differ do not talk.
struct Identity {
  std::string build;              // version of the library, and how it lays numbers out
  std::uint64_t dtype_table = 0;  // hash of names and sizes of all dtypes in order: a dtype's number means the same on both sides
  static constexpr auto fields() {
    return std::tuple{field("build", &Identity::build, "Version of the library."),
                      field("dtype_table", &Identity::dtype_table, "Hash of the table of dtypes.")};
  }
};

/// Of this process.
const Identity& own_identity();

/// Throws VersionError naming both when they differ.
void require_same(const Identity& ours, const Identity& theirs);

}  // namespace resilin::dist
