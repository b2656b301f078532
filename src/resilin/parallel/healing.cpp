// src/resilin/parallel/healing.cpp -- donors that offer their state, takers that read it.
#include "resilin/parallel/healing.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "resilin/base/error.h"
#include "resilin/base/text.h"
#include "resilin/base/thread_pool.h"
#include "resilin/parallel/digest.h"
#include "resilin/parallel/step_state.h"

namespace resilin::parallel {
namespace {

constexpr std::uint64_t kChunk = 256 * 1024;
constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kHostCapacity = 1024 * 1024;

/// At the beginning of a donor's memory.
struct DonorPage {
  StateLabel label;
  std::uint64_t host_bytes = 0;
  std::uint64_t host_digest = 0;
};
static_assert(sizeof(DonorPage) <= kPage);

std::uint64_t chunks_of(std::uint64_t bytes) { return (bytes + kChunk - 1) / kChunk; }

std::span<std::byte> chunk(std::span<std::byte> bytes, std::uint64_t number) {
  return bytes.subspan(number * kChunk, std::min<std::uint64_t>(kChunk, bytes.size() - number * kChunk));
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

template <class T>
T read_as(const dist::Window& window, int rank, std::uint64_t offset) {
  T value;
  window.get(rank, offset, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

DonorPage page_of(const dist::Window& window, const std::vector<int>& donors, std::uint64_t generation) {
  const DonorPage first = read_as<DonorPage>(window, donors.front(), 0);
  for (const int donor : donors) {
    const DonorPage page = read_as<DonorPage>(window, donor, 0);
    if (!(page.label == first.label) || page.label.generation != generation) {
      throw DistError(cat("healing: rank ", donors.front(), " offers the state after step ", first.label.step, " in generation ",
                          first.label.generation, ", rank ", donor, " that after step ", page.label.step, " in generation ",
                          page.label.generation, "; all must offer the same, in generation ", generation));
    }
  }
  if (first.host_bytes > kHostCapacity)
    throw DistError(cat("healing: rank ", donors.front(), " offers ", first.host_bytes, " bytes beside its tensors"));
  return first;
}

/// What each donor says of all chunks; its own ones count.
std::vector<std::vector<std::uint64_t>> digests_of(const dist::Window& window, const std::vector<int>& donors, std::uint64_t begin,
                                                   std::uint64_t chunks) {
  std::vector<std::vector<std::uint64_t>> digests;
  for (const int donor : donors) {
    digests.emplace_back(chunks);
    window.get(donor, begin, std::as_writable_bytes(std::span(digests.back())));
  }
  return digests;
}

/// In as many threads as this process has: what one of them copies is in its cache when it is digested.
void take_tensors(std::span<std::byte> tensors, const dist::Window& window, const std::vector<int>& donors, std::uint64_t begin) {
  const std::uint64_t chunks = chunks_of(tensors.size());
  const std::vector<std::vector<std::uint64_t>> digests = digests_of(window, donors, begin + tensors.size(), chunks);
  parallel_for(0, static_cast<i64>(chunks), 1, [&](i64 first, i64 last, int) {
    for (std::uint64_t c = static_cast<std::uint64_t>(first); c < static_cast<std::uint64_t>(last); ++c) {
      const std::size_t d = c % donors.size();
      const std::span<std::byte> mine = chunk(tensors, c);
      window.get(donors[d], begin + c * kChunk, mine);
      if (digest_of(mine) != digests[d][c])
        throw DistError(cat("healing: chunk ", c, " of the state of rank ", donors[d], " is not what it says: it wrote meanwhile"));
    }
  });
}

void take_host_parts(StepState& state, const dist::Window& window, int donor, const DonorPage& page) {
  std::string bytes(page.host_bytes, '\0');
  window.get(donor, kPage, std::as_writable_bytes(std::span(bytes)));
  if (digest_of(bytes_of(bytes)) != page.host_digest)
    throw DistError(cat("healing: what rank ", donor, " has beside its tensors is not what it says"));
  state.load_host_parts(bytes);
}

}  // namespace

std::uint64_t donor_bytes_before_tensors() { return kPage + kHostCapacity; }
std::uint64_t donor_bytes_after_tensors(std::uint64_t tensor_bytes) { return chunks_of(tensor_bytes) * sizeof(std::uint64_t); }

void offer_state(StepState& state, const StateLabel& label, std::size_t donor, std::size_t donors) {
  const std::string host = state.save_host_parts();
  if (host.size() > kHostCapacity)
    throw UnsupportedError(cat("healing: ", host.size(), " bytes of state are no tensors; at most ", kHostCapacity, " travel"));
  std::byte* const memory = static_cast<std::byte*>(state.memory().tensor().data());
  const DonorPage page{label, host.size(), digest_of(bytes_of(host))};
  std::memcpy(memory, &page, sizeof page);
  std::memcpy(memory + kPage, host.data(), host.size());
  const std::span<std::byte> tensors = state.tensor_bytes();
  std::byte* const digests = tensors.data() + tensors.size();
  const std::uint64_t chunks = chunks_of(tensors.size());
  const i64 mine = static_cast<i64>(chunks > donor ? (chunks - donor + donors - 1) / donors : 0);
  parallel_for(0, mine, 1, [&](i64 first, i64 last, int) {
    for (i64 i = first; i < last; ++i) {
      const std::uint64_t c = donor + static_cast<std::uint64_t>(i) * donors;
      const std::uint64_t digest = digest_of(chunk(tensors, c));
      std::memcpy(digests + c * sizeof digest, &digest, sizeof digest);
    }
  });
}

Healed take_state(StepState& state, const dist::Window& window, const std::vector<int>& donors, std::uint64_t generation) {
  const std::span<std::byte> tensors = state.tensor_bytes();
  for (const int donor : donors) {
    if (const std::uint64_t bytes = window.size_bytes(donor); bytes != state.memory().size_bytes()) {
      throw DistError(cat("healing: the state of rank ", donor, " has ", bytes, " bytes, this one ", state.memory().size_bytes(),
                          "; all ranks must register the same"));
    }
  }
  const DonorPage page = page_of(window, donors, generation);
  take_tensors(tensors, window, donors, state.tensors_begin());
  take_host_parts(state, window, donors.front(), page);
  return {page.label, tensors.size() + page.host_bytes};
}

}  // namespace resilin::parallel
