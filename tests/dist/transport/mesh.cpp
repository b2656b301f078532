// tests/dist/transport/mesh.cpp -- ranks of one process are made, connected and stepped.
#include "tests/dist/transport/mesh.h"

#include <algorithm>
#include <cstring>

#include "resilin/base/hash.h"

namespace resilin::dist::testing {

std::vector<std::byte> pattern(std::size_t count, std::uint64_t seed) {
  std::vector<std::byte> bytes(count);
  for (std::size_t i = 0; i < count; i += 8) {
    const std::uint64_t word = hash_mix(seed, i / 8);
    std::memcpy(&bytes[i], &word, std::min<std::size_t>(8, count - i));
  }
  return bytes;
}

Mesh::Mesh(const TransportMaker& make, int ranks) {
  std::vector<std::string> addresses;
  for (int i = 0; i < ranks; ++i) {
    ranks_.push_back(std::make_unique<MeshRank>());
    MeshRank& rank = *ranks_.back();
    rank.transport = make({.note = [&rank](int peer, std::string_view bytes) { rank.notes.emplace_back(peer, bytes); },
                           .lost = [&rank](int peer, const std::string& why) { rank.losses.emplace_back(peer, why); }});
    addresses.push_back(rank.transport->address());
  }
  for (int i = 0; i < ranks; ++i) {
    (*this)[i].join(i, ranks);
    for (int peer = 0; peer < ranks; ++peer) (*this)[i].connect(peer, addresses[static_cast<std::size_t>(peer)]);
  }
}

bool Mesh::progress() {
  bool moved = false;
  for (const std::unique_ptr<MeshRank>& rank : ranks_) {
    if (rank->transport != nullptr && rank->transport->progress()) moved = true;
  }
  return moved;
}

bool Mesh::run_until(const std::function<bool()>& holds) {
  return holds_within(kPatience, [&] {
    progress();
    return holds();
  });
}

void Mesh::settle() {
  for (int idle = 0, steps = 0; idle < 2000 && steps < 1'000'000; ++steps) idle = progress() ? 0 : idle + 1;
}

bool holds_within(std::chrono::milliseconds time, const std::function<bool()>& holds) {
  const std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now() + time;
  do {
    if (holds()) return true;
  } while (std::chrono::steady_clock::now() < last);
  return false;
}

}  // namespace resilin::dist::testing
