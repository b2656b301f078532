// tests/tool/ledger_kit.cpp -- makes right ledgers of jobs with kills, retries, steps in doubt and new lives, to be damaged.
#include "tests/tool/ledger_kit.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <random>

namespace resilin::testing {
namespace {

std::string hex16(std::uint64_t value) {
  std::string text(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) text[i] = "0123456789abcdef"[value & 15];
  return text;
}

std::string listed(const std::vector<i64>& values) {
  std::string out = "[";
  for (const i64 value : values) out += cat(out.size() > 1 ? "," : "", value);
  return out + "]";
}

}  // namespace

std::string LedgerLine::text() const {
  if (kind == Kind::Header) {
    return cat(R"({"ledger":1,"job":"test","rank":)", rank, R"(,"life":)", life, R"(,"first_step":)", first_step, R"(,"batch":)", batch,
               R"(,"samples_per_epoch":)", samples_per_epoch, "}");
  }
  if (kind == Kind::Done) return cat(R"({"done":")", id, R"(","state":")", state, R"("})");
  return cat(R"({"try":")", id, R"(","group_rank":)", group_rank, R"(,"world":)", world, R"(,"epoch":)", epoch, R"(,"samples":)",
             listed(samples), "}");
}

i64 LedgerFiles::dones(i64 step) const {
  i64 count = 0;
  for (const auto& [name, file] : lines) {
    count += std::count_if(file.begin(), file.end(),
                           [step](const LedgerLine& line) { return line.kind == LedgerLine::Kind::Done && line.step == step; });
  }
  return count;
}

bool LedgerFiles::committed(const std::string& id) const {
  for (const auto& [name, file] : lines) {
    if (std::any_of(file.begin(), file.end(), [&](const LedgerLine& line) { return line.kind == LedgerLine::Kind::Done && line.id == id; }))
      return true;
  }
  return false;
}

i64 LedgerFiles::last_step() const {
  i64 last = -1;
  for (const auto& [name, file] : lines) {
    for (const LedgerLine& line : file) last = line.kind == LedgerLine::Kind::Done ? std::max(last, line.step) : last;
  }
  return last;
}

void LedgerFiles::write(const std::string& folder) const {
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const auto& [name, file] : lines) {
    std::ofstream out(cat(folder, "/", name, ".jsonl"), std::ios::binary);
    for (const LedgerLine& line : file) out << line.text() << "\n";
    if (const auto cut = torn.find(name); cut != torn.end()) out << cut->second;
  }
}

std::vector<LedgerLine>& LedgerJob::file(i64 rank) {
  std::vector<LedgerLine>& lines = files_.lines[cat(rank, ".", lives_[rank])];
  if (lines.empty()) {
    LedgerLine header;
    header.rank = rank;
    header.life = lives_[rank];
    header.first_step = first_step_;
    header.batch = kBatch;
    header.samples_per_epoch = kSamples;
    lines.push_back(header);
  }
  return lines;
}

/// Ids of this step: a slice of the epoch's permutation.
std::vector<i64> LedgerJob::batch_of(i64 step) const {
  constexpr i64 kSteps = kSamples / kBatch;
  std::vector<i64> order(kSamples);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937_64 random(seed_ * 1000 + static_cast<std::uint64_t>(step / kSteps));
  std::shuffle(order.begin(), order.end(), random);
  return {order.begin() + step % kSteps * kBatch, order.begin() + (step % kSteps + 1) * kBatch};
}

void LedgerJob::generation(std::vector<i64> members) {
  ++generation_;
  attempt_ = 0;
  members_ = std::move(members);
  for (const i64 rank : members_) {
    if (lives_[rank] == 0) lives_[rank] = 1;
    file(rank);
  }
}

/// All but `silent` write their try; a healing rank has no samples, and the others have its share.
void LedgerJob::vote(i64 healing, i64 silent) {
  const std::vector<i64> batch = batch_of(step_);
  const i64 sharers = static_cast<i64>(members_.size()) - (healing < 0 ? 0 : 1);
  i64 share = 0;
  for (std::size_t position = 0; position < members_.size(); ++position) {
    LedgerLine line{.kind = LedgerLine::Kind::Try,
                    .id = id(),
                    .step = step_,
                    .group_rank = static_cast<i64>(position),
                    .world = static_cast<i64>(members_.size()),
                    .epoch = step_ / (kSamples / kBatch),
                    .samples = {},
                    .state = {}};
    if (members_[position] != healing) {
      line.samples = {batch.begin() + share * kBatch / sharers, batch.begin() + (share + 1) * kBatch / sharers};
      ++share;
    }
    if (members_[position] == silent) {
      files_.torn[cat(silent, ".", lives_[silent])] = line.text().substr(0, line.text().size() * 2 / 3);
    } else {
      file(members_[position]).push_back(line);
    }
  }
}

void LedgerJob::done(i64 rank, const std::string& id, i64 step) {
  LedgerLine line;
  line.kind = LedgerLine::Kind::Done;
  line.id = id;
  line.step = step;
  line.state = hex16((static_cast<std::uint64_t>(step) + 1) * 0x9e3779b97f4a7c15U + seed_);
  file(rank).push_back(line);
}

void LedgerJob::steps(i64 count) {
  for (; count > 0; --count) healing_step(-1);
}

void LedgerJob::refused_attempt() {
  vote(-1, -1);
  ++attempt_;
}

void LedgerJob::healing_step(i64 rank) {
  vote(rank, -1);
  for (const i64 member : members_) done(member, id(), step_);
  ++step_;
  attempt_ = 0;
}

void LedgerJob::kill_before_vote(i64 rank) {
  vote(-1, rank);
  ++lives_[rank];
}

void LedgerJob::kill_before_done(i64 rank, bool torn) {
  vote(-1, -1);
  for (const i64 member : members_) {
    if (member != rank) done(member, id(), step_);
  }
  if (torn) files_.torn[cat(rank, ".", lives_[rank])] = cat(R"({"done":")", id(), R"(","sta)");
  ++lives_[rank];
  ++step_;
  attempt_ = 0;
}

void LedgerJob::step_in_doubt(i64 rank, std::vector<i64> next_members) {
  vote(-1, -1);
  const std::string committed = id();
  const i64 step = step_++;
  done(rank, committed, step);
  const std::vector<i64> before = members_;
  generation(std::move(next_members));
  for (const i64 member : members_) {
    if (member != rank && std::find(before.begin(), before.end(), member) != before.end()) done(member, committed, step);
  }
}

LedgerFiles eventful_ledger(std::uint64_t seed) {
  LedgerJob job(seed);
  job.generation({0, 1, 2, 3});
  job.steps(7);
  job.refused_attempt();
  job.steps(3);
  job.kill_before_vote(2);
  job.generation({0, 1, 3});
  job.steps(3);  // into the second epoch
  job.generation({0, 1, 2, 3});
  job.healing_step(2);
  job.steps(2);
  job.kill_before_done(1, /*torn=*/true);
  job.generation({0, 2, 3});
  job.steps(1);
  job.step_in_doubt(3, {3, 0, 2});
  job.steps(2);
  job.kill_before_done(0, /*torn=*/false);
  job.generation({3, 2});
  job.refused_attempt();
  job.refused_attempt();
  job.steps(2);
  job.generation({3, 2, 0, 1});
  job.healing_step(1);
  job.steps(7);
  return job.files();
}

}  // namespace resilin::testing
