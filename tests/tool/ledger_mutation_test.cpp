// tests/tool/ledger_mutation_test.cpp -- ledgers with one line dropped, repeated or changed: found, unless it was redundant.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"
#include "tests/tool/ledger_kit.h"

#include "tools/resilin/ledger.h"

namespace resilin {
namespace {

using testing::LedgerFiles;
using testing::LedgerJob;
using testing::LedgerLine;
using Kind = LedgerLine::Kind;
using Random = std::mt19937_64;

/// One change, and whether the other lines still tell that it was made.
struct Mutation {
  std::string what;
  bool told = true;
};

std::size_t below(Random& random, std::size_t count) { return static_cast<std::size_t>(random() % count); }

Mutation drop(LedgerFiles& files, std::vector<LedgerLine>& lines, std::size_t at) {
  const LedgerLine line = lines[at];
  Mutation made{cat("drop ", line.text())};
  // Others did the step as well; or it was the last one, and then is one that nobody did.
  if (line.kind == Kind::Done) made.told = files.dones(line.step) == 1 && line.step != files.last_step();
  if (line.kind == Kind::Try) made.told = files.committed(line.id);
  if (line.kind == Kind::Header) made.told = lines.size() > 1;
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(at));
  return made;
}

Mutation repeat(LedgerFiles& files, std::vector<LedgerLine>& lines, std::size_t at, Random& random) {
  const LedgerLine line = lines[at];
  Mutation made{cat("repeat ", line.text())};
  if (line.kind == Kind::Try) made.told = files.committed(line.id);
  const std::size_t where = at + 1 + below(random, lines.size() - at);
  lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(where), line);
  return made;
}

Mutation change_done(LedgerFiles& files, LedgerLine& line, Random& random) {
  Mutation made{cat("change ", line.text())};
  if (below(random, 2) == 0) {
    made.told = files.dones(line.step) > 1;
    line.state[below(random, line.state.size())] ^= 1;
  } else {
    // A vote of which there is no try.
    line.id = cat(99, ".", line.step, ".", below(random, 3));
  }
  return made;
}

Mutation change_try(LedgerFiles& files, LedgerLine& line, Random& random) {
  Mutation made{cat("change ", line.text()), files.committed(line.id)};
  switch (below(random, 5)) {
    case 0: line.group_rank += 1; break;
    case 1: line.world += 1; break;
    case 2:
      // No samples are of any epoch.
      made.told = made.told && !line.samples.empty();
      line.epoch += 1;
      break;
    case 3: line.id += "7"; break;
    default:
      // Of a healing rank there is no sample to change, and of the unfinished epoch there are ids that no step has visited yet.
      if (line.samples.empty()) {
        line.samples.push_back(static_cast<i64>(below(random, LedgerJob::kSamples)));
      } else if (line.epoch < 2) {
        const std::size_t at = below(random, line.samples.size());
        const i64 before = line.samples[at];
        // One of the rest, which no step of this epoch visits, cannot be told from the right one.
        for (line.samples[at] = (before + 1) % LedgerJob::kSamples; line.samples[at] != before;
             line.samples[at] = (line.samples[at] + 1) % LedgerJob::kSamples) {
          bool visited = false;
          for (const auto& [name, lines] : files.lines) {
            for (const LedgerLine& other : lines) {
              visited = visited || (&other != &line && other.kind == Kind::Try && other.epoch == line.epoch && files.committed(other.id) &&
                                    std::find(other.samples.begin(), other.samples.end(), line.samples[at]) != other.samples.end());
            }
          }
          if (visited) break;
        }
      } else {
        line.samples.pop_back();
      }
  }
  return made;
}

Mutation change_header(LedgerFiles&, LedgerLine& line, Random& random) {
  Mutation made{cat("change ", line.text())};
  i64* const fields[] = {&line.rank, &line.life, &line.first_step, &line.batch, &line.samples_per_epoch};
  *fields[below(random, 5)] += 1;
  return made;
}

Mutation mutate(LedgerFiles& files, Random& random) {
  std::size_t all = 0;
  for (const auto& [name, lines] : files.lines) all += lines.size();
  std::size_t at = below(random, all);
  auto file = files.lines.begin();
  for (; at >= file->second.size(); ++file) at -= file->second.size();
  LedgerLine& line = file->second[at];
  switch (below(random, 4)) {
    case 0: return drop(files, file->second, at);
    case 1: return repeat(files, file->second, at, random);
    default:
      if (line.kind == Kind::Header) return change_header(files, line, random);
      return line.kind == Kind::Done ? change_done(files, line, random) : change_try(files, line, random);
  }
}

TEST_CASE("one line dropped, repeated or changed is found unless it was redundant") {
  const testing::TemporaryFolder folder;
  int told = 0, redundant = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    LedgerFiles files = testing::eventful_ledger(seed % 7);
    const Mutation made = mutate(files, random);
    files.write(folder.path());
    const tool::LedgerAccount account = tool::verify_ledger(folder.path());
    CHECK_MESSAGE(account.holds() != made.told, cat("seed ", seed, ": ", made.what, "\n", ledger_text(account)));
    ++(made.told ? told : redundant);
  }
  CHECK(told > 1000);
  CHECK(redundant > 100);
}

/// Flips, cuts and insertions of bytes: whatever the answer is, it comes.
TEST_CASE("ledgers with damaged bytes are judged or refused, and nothing else happens") {
  const testing::TemporaryFolder folder;
  std::string valid;
  const LedgerFiles files = testing::eventful_ledger(3);
  for (const LedgerLine& line : files.lines.at("3.1")) valid += line.text() + "\n";
  static constexpr const char* kPieces[] = {
      "9223372036854775807", "-1", "1e308", "null", "[", "{", "\"", "\n", "\xff", "1.5", ".", "\\ud800"};
  int held = 0, violated = 0;
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    Random random(seed);
    std::string bytes = valid;
    for (std::size_t count = 1 + below(random, 4); count > 0 && !bytes.empty(); --count) {
      const std::size_t at = below(random, bytes.size());
      switch (below(random, 3)) {
        case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8))); break;
        case 1: bytes.replace(at, below(random, 20), kPieces[below(random, std::size(kPieces))]); break;
        default: bytes.resize(at + (bytes.size() - at) * 7 / 8); break;
      }
    }
    files.write(folder.path());
    std::filesystem::remove(folder.path() + "/3.1.jsonl");
    std::ofstream(folder.path() + "/3.1.jsonl", std::ios::binary) << bytes;
    const tool::LedgerAccount account = tool::verify_ledger(folder.path());
    CHECK(ledger_json(account).size() > 100);
    ++(account.holds() ? held : violated);
  }
  CHECK(violated > 1000);
  CHECK(held + violated == 1500);
}

}  // namespace
}  // namespace resilin
