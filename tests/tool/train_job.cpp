// tests/tool/train_job.cpp -- jobs of `resilin train`, started and read.
#include "tests/tool/train_job.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "resilin/tensor/tensor.h"

#include "tools/resilin/follow.h"
#include "tools/resilin/ledger_read.h"

namespace resilin::tool {
namespace {

namespace fs = std::filesystem;

std::vector<Event> all_events(const std::string& run) {
  EventTail tail(run + "/events.jsonl");
  std::vector<Event> events;
  do {
    for (Event& event : tail.read()) events.push_back(std::move(event));
  } while (tail.is_behind());
  return events;
}

std::vector<std::string> arguments_of(const std::string& place, const std::string& run, int ranks, const std::vector<std::string>& words,
                                      const std::string& chaos) {
  std::vector<std::string> arguments = {"--standalone", cat("--nproc-per-node=", ranks), "--policy=respawn", "--max-restarts=5",
                                        cat("--events=", place, "/", run, "/events.jsonl")};
  if (!chaos.empty()) arguments.push_back("--chaos=" + chaos);
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path() / "resilin";
  arguments.insert(arguments.end(), {"env", cat("RESILIN_RECORDER_DIR=", place, "/recordings"), program.string(), "train",
                                     place + "/task.toml", cat("run.out=", place, "/", run)});
  arguments.insert(arguments.end(), words.begin(), words.end());
  return arguments;
}

}  // namespace

// The gradient of the keys' bias is zero but for rounding, which depends on who sums what; AdamW makes steps of it that are as long as the learning rate.
void write_small_task(const std::string& folder) {
  std::ofstream text(folder + "/text");
  std::uint64_t word = 1;
  for (int i = 0; i < 4000; ++i) {
    word = word * 6364136223846793005U + 1442695040888963407U;
    text << std::array{"and ", "the ", "lord ", "said, ", "unto ", "moses ", "speak\n", "saying "}[word >> 61];
  }
  std::ofstream(folder + "/task.toml") << "[data]\ntext = \"" << folder << "/text\"\n"
                                       << "[model]\nlayers = 1\nheads = 2\nwidth = 32\nlength = 16\ndropout = 0.1\n"
                                       << "[train]\nsteps = 200\nslots = 8\nlr = 1e-3\n"
                                       << "[checkpoint]\nevery = 0\n"
                                       << "[run]\nprogress = \"off\"\n";
}

TrainingJob::TrainingJob(const resilin::testing::TemporaryFolder& place, const std::string& run, int ranks,
                         const std::vector<std::string>& words, const std::string& chaos)
    : folder_(place.path() + "/" + run),
      seen_((fs::create_directories(folder_), all_events(folder_).size())),
      launcher_(place, arguments_of(place.path(), run, ranks, words, chaos), "launcher", 300) {}

bool TrainingJob::reaches(i64 step) const {
  return dist::launch::comes_true(
      [&] {
        const std::vector<Event> events = all_events(folder_);
        return std::any_of(events.begin() + static_cast<std::ptrdiff_t>(seen_), events.end(),
                           [&](const Event& event) { return event.what == "commit" && integer_of(event, "step") >= step; });
      },
      100);
}

std::vector<Event> events_of(const std::string& run, const std::string& what) {
  std::vector<Event> events = all_events(run);
  std::erase_if(events, [&](const Event& event) { return event.what != what; });
  return events;
}

i64 integer_of(const Event& event, const std::string& key) { return event.find(key)->integer(); }
double number_of(const Event& event, const std::string& key) { return event.find(key)->number(); }

std::map<i64, std::vector<i64>> samples_of(const std::string& ledger) {
  const std::vector<LedgerFile> files = read_ledger(ledger);
  std::set<CommitId> commits;
  for (const LedgerFile& file : files) {
    for (const LedgerDone& done : file.dones) commits.insert(done.id);
  }
  std::map<i64, std::vector<i64>> samples;
  for (const LedgerFile& file : files) {
    for (const LedgerTry& tried : file.tries) {
      if (!commits.contains(tried.id)) continue;
      std::vector<i64>& of_step = samples[tried.id.step];
      of_step.insert(of_step.end(), tried.samples.begin(), tried.samples.end());
    }
  }
  for (auto& [step, ids] : samples) std::ranges::sort(ids);
  return samples;
}

std::map<i64, double> losses_of(const std::string& run) {
  std::map<i64, double> losses;
  for (const Event& event : events_of(run, "commit")) losses[integer_of(event, "step")] = number_of(event, "loss");
  return losses;
}

double relative_difference(const Checkpoint& a, const Checkpoint& b) {
  double difference = 0, norm = 0;
  for (const auto& [name, x] : a.tensors) {
    if (!name.starts_with("model.")) continue;
    const auto y = std::ranges::find(b.tensors, name, [](const auto& one) { return one.first; });
    if (y == b.tensors.end()) return 1;
    const float* const p = static_cast<const float*>(x.data());
    const float* const q = static_cast<const float*>(y->second.data());
    for (i64 i = 0; i < x.numel().value(); ++i) {
      difference += (static_cast<double>(p[i]) - q[i]) * (static_cast<double>(p[i]) - q[i]);
      norm += static_cast<double>(p[i]) * p[i];
    }
  }
  return norm == 0 ? 1 : std::sqrt(difference / norm);
}

bool is_same(const Checkpoint& a, const Checkpoint& b, const std::set<std::string>& but) {
  if (a.step != b.step || a.tensors.size() != b.tensors.size()) return false;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    const auto& [name, x] = a.tensors[i];
    const auto& [other, y] = b.tensors[i];
    const std::size_t bytes = static_cast<std::size_t>(x.numel().value()) * size_bytes(x.dtype());
    if (name != other || x.dtype() != y.dtype() || x.numel().value() != y.numel().value()) return false;
    if (!but.contains(name) && std::memcmp(x.data(), y.data(), bytes) != 0) return false;
  }
  return true;
}

}  // namespace resilin::tool
