// bench/elastic.cpp -- what elastic training costs without faults, how long a rank takes to heal 100 MB, and a kill to the next committed step.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "resilin/base/text.h"

#include "bench/support/compare.h"
#include "bench/support/elastic_ranks.h"
#include "bench/support/job.h"

namespace {

using resilin::cat;
using resilin::bench::JobFolder;
using resilin::bench::median;
using resilin::bench::quantile;
using resilin::bench::Record;
using resilin::bench::Records;
using resilin::bench::Report;
using resilin::bench::Row;
using resilin::bench::run_job_of_ranks;

constexpr int kResamples = 10'000;
constexpr double kNetworkBytes = 10e6;

constexpr const char* kUsage =
    "usage: bench_elastic [--protect] [--kill] [--heal] [--network] [--pairs 60] [--steps 4] [--kills 20] [--rounds 5] [--json FILE]\n"
    "       all parts where none is named\n";

struct Options {
  std::vector<std::string> parts;
  int pairs = 60, steps = 4, kills = 20, rounds = 5;
};

Options read_options(int argc, char** argv) {
  Options options;
  const std::map<std::string, int*> counts = {
      {"--pairs", &options.pairs}, {"--steps", &options.steps}, {"--kills", &options.kills}, {"--rounds", &options.rounds}};
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--protect" || word == "--kill" || word == "--heal" || word == "--network") {
      options.parts.push_back(word.substr(2));
    } else if (const auto found = counts.find(word); found != counts.end() && i + 1 < argc) {
      *found->second = static_cast<int>(resilin::parse_integer(argv[++i]));
    } else if (word == "--json" && i + 1 < argc) {
      ++i;  // the report's
    } else {
      throw std::invalid_argument(cat("\"", word, "\" is no option\n", kUsage));
    }
  }
  if (options.parts.empty()) options.parts = {"protect", "kill", "heal", "network"};
  return options;
}

/// Where a figure must stay at or below `wanted`; 0: it need not.
void add_row(Report& report, std::string name, double figure, const char* unit, double wanted, std::string note, int ranks) {
  Row row{.name = std::move(name), .ours = figure, .unit = unit, .threads = ranks, .cache = "warm", .note = std::move(note)};
  row.wanted = wanted;
  // Also what is no number, because nothing was measured.
  row.failed = wanted != 0 ? !(figure <= wanted) : !std::isfinite(figure);
  if (wanted != 0) row.note = cat("wanted <= ", wanted, row.note.empty() ? "" : "; ", row.note);
  report.add(std::move(row));
}

std::string digits(double x) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", x);
  return text.data();
}

std::string spread(const std::vector<double>& values) {
  return cat(values.size(), " times; ", digits(quantile(values, 0)), " to ", digits(quantile(values, 1)));
}

std::vector<Record> records_of(const std::vector<Record>& all, const std::string& what, const std::function<bool(const Record&)>& fits) {
  std::vector<Record> found;
  std::ranges::copy_if(all, std::back_inserter(found), [&](const Record& record) { return record.what == what && fits(record); });
  return found;
}

double first_of(const std::vector<Record>& records) {
  double first = std::nan("");
  for (const Record& record : records) first = std::fmin(first, record.at_s);
  return first;
}
double last_of(const std::vector<Record>& records) {
  double last = std::nan("");
  for (const Record& record : records) last = std::fmax(last, record.at_s);
  return last;
}

// ---- what protection costs while nothing fails

/// Of the median of the values, by drawing them anew.
std::pair<double, double> interval_of_median(const std::vector<double>& values) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::size_t> any(0, values.size() - 1);
  std::vector<double> medians, drawn(values.size());
  for (int i = 0; i < kResamples; ++i) {
    for (double& value : drawn) value = values[any(random)];
    medians.push_back(median(drawn));
  }
  return {quantile(medians, 0.025), quantile(medians, 0.975)};
}

void report_protect(Report& report, const std::vector<Record>& records) {
  const std::vector<Record> blocks = records_of(records, "block", [](const Record& record) { return record.rank == 0; });
  std::vector<double> with, without, more;
  double protect_s = 0, step_s = 0;
  for (std::size_t i = 0; i + 1 < blocks.size(); i += 2) {
    const Record& first = blocks[i];
    const Record& second = blocks[i + 1];
    const double on = first.values[0] != 0 ? first.values[1] : second.values[1];
    const double off = first.values[0] != 0 ? second.values[1] : first.values[1];
    with.push_back(on * 1e3);
    without.push_back(off * 1e3);
    more.push_back((on / off - 1) * 100);
  }
  for (const Record& block : records_of(records, "block", [](const Record& record) { return record.values[0] != 0; })) {
    step_s += block.values[1];
    protect_s += block.values[2];
  }
  const auto [low, high] = interval_of_median(more);
  add_row(report, "step without protection", median(without), "ms", 0, spread(without), 4);
  add_row(report, "step with protection", median(with), "ms", 0, spread(with), 4);
  add_row(report, "protection: what a step takes longer", median(more), "%", 0, cat(more.size(), " pairs"), 4);
  add_row(report, "  lower end of its 95 % interval", low, "%", 0, "", 4);
  add_row(report, "  upper end of its 95 % interval", high, "%", 4, "", 4);
  add_row(report, "protection: its own time within the steps", protect_s / step_s * 100, "%", 1, "votes, digests, ledger, of all ranks", 4);
  double parts_us = 0;
  for (const char* part : {"try", "digest", "exchange", "done"}) {
    std::vector<double> us;
    for (const Record& record : records_of(records, cat("part_", part), [](const Record&) { return true; }))
      us.push_back(record.values[0] * 1e6);
    parts_us += median(us);
    add_row(report, cat("  ", part, " by itself"), median(us), "us", 0, spread(us), 4);
  }
  add_row(report, "protection: its parts by themselves", parts_us / median(without) / 10, "%", 0, "of a step", 4);
}

// ---- a kill

void report_kill(Report& report, const std::vector<Record>& records) {
  std::vector<double> noticed, installed, committed;
  for (const Record& kill : records_of(records, "kill", [](const Record&) { return true; })) {
    const double generation = kill.values[0];
    const auto of_next = [&](const Record& record) { return record.values[0] == generation + 1 && record.at_s > kill.at_s; };
    const double notice = first_of(records_of(records, "aborted", [&](const Record& one) { return one.values[0] == generation; }));
    const double install = last_of(records_of(records, "installed", of_next)), commit = first_of(records_of(records, "commit", of_next));
    noticed.push_back((notice - kill.at_s) * 1e3);
    installed.push_back((install - notice) * 1e3);
    committed.push_back((commit - kill.at_s) * 1e3);
  }
  std::vector<double> step;
  for (const Record& commit : records_of(records, "commit", [](const Record& record) { return record.values[1] == 3; }))
    step.push_back(commit.values[2] * 1e3);
  const auto add = [&](const char* name, const std::vector<double>& ms, double q) {
    add_row(report, name, quantile(ms, q), "ms", 0, spread(ms), 4);
  };
  add("kill -> first survivor notices, p50", noticed, 0.5);
  add("  p95", noticed, 0.95);
  add("-> new generation at all survivors, p50", installed, 0.5);
  add("  p95", installed, 0.95);
  add("kill -> next committed step, p50", committed, 0.5);
  add("  p95", committed, 0.95);
  add("step of the three that are left, p50", step, 0.5);
}

// ---- healing

struct Healing {
  std::vector<double> exec_to_made, made_to_installed, commit_to_healed, read, commit_to_yes, exec_to_yes, made_work, yes_work, before,
      meanwhile, ratio;
};

void add_healing(Healing& all, const std::vector<Record>& records, int life) {
  const auto of_joiner = [&](const Record& record) { return record.rank == 3 && record.life == life; };
  const auto moment = [&](const char* what) { return first_of(records_of(records, what, of_joiner)); };
  const std::vector<Record> installs = records_of(records, "installed", of_joiner);
  if (installs.empty()) throw std::runtime_error(cat("life ", life, " of the last rank was in no generation"));
  const double generation = installs.front().values[0];
  const double commit = first_of(records_of(records, "installed", [&](const Record& one) { return one.values[0] == generation; }));
  const double exec = moment("exec"), made = moment("made"), healed = moment("healed"), yes = moment("yes");
  all.exec_to_made.push_back((made - exec) * 1e3);
  all.made_to_installed.push_back((commit - made) * 1e3);
  all.commit_to_healed.push_back((healed - commit) * 1e3);
  all.read.push_back(records_of(records, "healed", of_joiner).front().values[0] * 1e3);
  all.commit_to_yes.push_back((yes - commit) * 1e3);
  all.exec_to_yes.push_back((yes - exec) * 1e3);
  const auto work_ms = [&](const char* what) { return records_of(records, what, of_joiner).front().values[0] * 1e3; };
  all.made_work.push_back(work_ms("made"));
  all.yes_work.push_back(work_ms("yes"));
  // A survivor's steps, each from the end of the one before it: those before the process began, and those that went on between its start and its vote.
  const std::vector<Record> steps = records_of(records, "commit", [](const Record& record) { return record.rank == 0; });
  std::vector<double> before, meanwhile;
  for (std::size_t i = 1; i < steps.size(); ++i) {
    const double begin = steps[i - 1].at_s, ms = (steps[i].at_s - begin) * 1e3;
    const bool same = steps[i].values[0] == steps[i - 1].values[0];
    if (steps[i].at_s < exec && steps[i].values[0] < generation && steps[i].values[0] >= generation - 1 && same) before.push_back(ms);
    if (begin < yes && steps[i].at_s > commit) meanwhile.push_back(ms);
  }
  all.before.push_back(median(before));
  all.meanwhile.push_back(quantile(meanwhile, 1));
  all.ratio.push_back(all.meanwhile.back() / all.before.back());
}

void report_heal(Report& report, const std::vector<Record>& records, int rounds) {
  Healing all;
  for (int life = 1; life <= rounds; ++life) add_healing(all, records, life);
  const auto add = [&](const char* name, const std::vector<double>& values, const char* unit, double wanted) {
    add_row(report, name, median(values), unit, wanted, spread(values), 4);
  };
  add("heal 100 MB: exec -> model made", all.exec_to_made, "ms", 0);
  add("  processor time for that", all.made_work, "ms", 0);
  add("  -> generation installed somewhere", all.made_to_installed, "ms", 0);
  add("  generation installed -> state read", all.commit_to_healed, "ms", 0);
  add("  of that: the taker's part of the healing", all.read, "ms", 0);
  add("heal 100 MB: generation installed -> yes", all.commit_to_yes, "ms", 300);
  add("heal 100 MB: exec -> yes", all.exec_to_yes, "ms", 1000);
  add("  processor time for that", all.yes_work, "ms", 0);
  add("heal 100 MB: a survivor's step before", all.before, "ms", 0);
  add("heal 100 MB: its longest step meanwhile", all.meanwhile, "ms", 0);
  add("heal 100 MB: meanwhile / before", all.ratio, "x", 1.5);
}

void report_network(Report& report, const std::vector<Record>& records) {
  std::vector<double> all, single;
  for (const Record& record : records) (record.what == "get" ? all : single).push_back(record.values[0] / 1e6);
  add_row(report, "get of 10 MB over TCP: a second of it", median(all), "MB", 0, spread(all), 2);
  add_row(report, "  the same, 3 KiB at a time", median(single), "MB", 0, "", 2);
  add_row(report, "get of 10 MB over TCP", kNetworkBytes / median(all) / 1e3, "ms", 500, "", 2);
}

// ---- parts

/// Some text of bytes that are not all alike.
void write_text(const std::string& path) {
  std::ofstream text(path);
  std::mt19937 random(1);
  for (int i = 0; i < 4'000'000; ++i) text.put(static_cast<char>('a' + random() % 26));
}

void run_part(const std::string& part, const Options& options, Report& report) {
  const JobFolder folder;
  std::vector<std::string> counts;
  if (part == "protect") counts = {cat(options.pairs), cat(options.steps)};
  if (part == "kill") counts = {cat(options.kills)};
  if (part == "heal") counts = {cat(options.rounds)};
  if (part == "protect" || part == "kill") write_text(folder.path() + "/text");
  run_job_of_ranks(part == "network" ? 2 : 4, part, folder.path(), counts);
  const std::vector<Record> records = Records::read(folder.path());
  if (part == "protect") report_protect(report, records);
  if (part == "kill") report_kill(report, records);
  if (part == "heal") report_heal(report, records, options.rounds);
  if (part == "network") report_network(report, records);
}

int run_rank(const std::vector<std::string>& words) {
  const std::string& part = words.at(0);
  const std::string& folder = words.at(1);
  const auto count = [&](std::size_t i) { return static_cast<int>(resilin::parse_integer(words.at(2 + i))); };
  if (part == "protect") resilin::bench::train_in_turn(folder, count(0), count(1));
  if (part == "kill") resilin::bench::train_with_kills(folder, count(0));
  if (part == "heal") resilin::bench::train_and_heal(folder, count(0));
  if (part == "network") resilin::bench::read_over_network(folder, kNetworkBytes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc >= 4 && std::string(argv[1]) == "--rank") return run_rank({argv + 2, argv + argc});
    const Options options = read_options(argc, argv);
    Report report(argc, argv);
    for (const std::string& part : options.parts) run_part(part, options, report);
    return report.finish();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_elastic: %s\n", error.what());
    return 1;
  }
}
