// src/resilin/dist/wire/identity.cpp -- the identity of this build.
#include "resilin/dist/wire/identity.h"

#include "resilin/base/error.h"
#include "resilin/base/hash.h"
#include "resilin/base/text.h"
#include "resilin/tensor/dtype.h"

namespace resilin::dist {
namespace {

constexpr std::string_view kBuild = "resilin " RESILIN_VERSION;

std::uint64_t dtype_table_hash() {
  std::uint64_t hash = kDTypeCount;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DType dtype = static_cast<DType>(i);
    hash = hash_mix(hash_text(name(dtype), hash), static_cast<std::uint64_t>(size_bytes(dtype)));
  }
  return hash;
}

}  // namespace

const Identity& own_identity() {
  // Lives for ever: threads may connect while the process ends.
  static const Identity* const identity = new Identity{std::string(kBuild), dtype_table_hash()};
  return *identity;
}

void require_same(const Identity& ours, const Identity& theirs) {
  if (ours.build != theirs.build) {
    throw VersionError(cat("connect: builds differ: this side is \"", ours.build, "\", the other \"", theirs.build,
                           "\"; both must run the same version of Resilin"));
  }
  if (ours.dtype_table != theirs.dtype_table) {
    throw VersionError(cat("connect: tables of dtypes differ: this side's hash is ", ours.dtype_table, ", the other's ", theirs.dtype_table,
                           "; both must run the same version of Resilin"));
  }
}

}  // namespace resilin::dist
