// src/resilin/dist/transport/address.cpp -- addresses as bytes and back.
#include "resilin/dist/transport/address.h"

#include <sys/stat.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/hash.h"
#include "resilin/base/text.h"
#include "resilin/dist/wire/bytes.h"
#include "resilin/dist/wire/codec.h"
#include "resilin/dist/wire/crc32c.h"
#include "resilin/dist/wire/identity.h"

namespace resilin::dist {
namespace {

constexpr std::string_view kMagic = "RSLNADDR";
constexpr std::size_t kHeaderBytes = kMagic.size() + sizeof(std::uint32_t);
constexpr std::size_t kMostAddressBytes = 64 * 1024;

std::string namespace_of(const char* path) {
  struct stat status;
  if (stat(path, &status) != 0) return path;
  return cat(status.st_dev, ":", status.st_ino);
}

}  // namespace

std::string pack_address(const TransportAddress& address) {
  const std::string body = encode(own_identity()) + encode(address);
  std::string out(kMagic);
  append_little(out, crc32c(body));
  return out + body;
}

TransportAddress unpack_address(std::string_view bytes, int peer, std::string_view engine) {
  if (bytes.size() < kHeaderBytes || bytes.size() > kMostAddressBytes || !bytes.starts_with(kMagic)) {
    throw StoreError(
        cat("connect: the address of rank ", peer, " is none: ", bytes.size(), " bytes; it must be what the rank's transport gave"));
  }
  const std::string_view body = bytes.substr(kHeaderBytes);
  const std::uint32_t expected = read_little<std::uint32_t>(bytes, kMagic.size());
  if (crc32c(body) != expected) {
    throw StoreError(cat("connect: the address of rank ", peer, " was changed on its way: checksum ", crc32c(body), " of ", body.size(),
                         " bytes, ", expected, " expected; it must be what the rank's transport gave"));
  }
  PayloadReader in(body);
  require_same(own_identity(), read_value<Identity>(in));
  const TransportAddress address = read_value<TransportAddress>(in);
  in.finish();
  if (address.engine != engine) {
    throw VersionError(cat("connect: engines differ: this rank's is \"", engine, "\", that of rank ", peer, " \"", address.engine,
                           "\"; all ranks must use the same"));
  }
  return address;
}

std::uint64_t own_place() {
  static const std::uint64_t place = hash_text(
      cat(read_file("/proc/sys/kernel/random/boot_id"), namespace_of("/proc/self/ns/ipc"), " ", namespace_of("/proc/self/ns/pid")));
  return place;
}

}  // namespace resilin::dist
