// tests/tool/soak_job.cpp -- a job of real processes that train, followed by its events.
#include "tests/tool/soak_job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <signal.h>
#include <unistd.h>

#include <doctest/doctest.h>

namespace resilin::tool::soak {
namespace {

namespace fs = std::filesystem;

std::string name_of_job() {
  static std::atomic<int> count{0};
  return cat("soak", getpid(), "x", count++);
}

std::vector<std::string> arguments_of(const JobOptions& options, const std::string& name, const std::string& out) {
  std::vector<std::string> arguments = {"--standalone",
                                        cat("--nproc-per-node=", kRanks),
                                        "--policy=respawn",
                                        cat("--max-restarts=", options.restarts),
                                        "--heartbeat-timeout=1",
                                        cat("--rdzv-id=", name),
                                        cat("--events=", out, "/events.jsonl")};
  const std::string mode = cat(options.features, " ", options.deadline_s);
  arguments = dist::launch::with_test_case(std::move(arguments), mode, kRankCase);
  // Recordings outlive their ranks: they must not look like something that was forgotten.
  const auto env = std::ranges::find(arguments, "env");
  arguments.insert(env + 1, cat("RESILIN_RECORDER_DIR=", out, "/recordings"));
  return arguments;
}

i64 integer_in(const Event& event, std::string_view key) {
  const Json* const found = event.find(key);
  return found != nullptr && found->is_integer() ? found->integer() : -1;
}
std::string text_in(const Event& event, std::string_view key) {
  const Json* const found = event.find(key);
  return found != nullptr && found->is_text() ? found->text() : "";
}

/// 'T' when it is stopped; ' ' when it is gone.
char state_of(pid_t process) {
  std::ifstream stat(cat("/proc/", process, "/stat"));
  std::string text;
  std::getline(stat, text);
  const std::size_t at = text.rfind(") ");
  return at == std::string::npos ? ' ' : text[at + 2];
}

}  // namespace

SoakJob::SoakJob(const JobOptions& options)
    : name_(name_of_job()),
      launcher_(out_, arguments_of(options, name_, out_.path()), "launcher", options.most_s),
      tail_(out_.path() + "/events.jsonl") {}

void SoakJob::look() {
  do {
    for (const Event& event : tail_.read()) take(event);
  } while (tail_.is_behind());
}

void SoakJob::take(const Event& event) {
  if (event.what == "start") {
    processes_[event.rank] = integer_in(event, "pid");
    lives_[event.rank] = event.life;
    started_us_[event.rank] = event.t_us;
    all_processes_.insert(static_cast<pid_t>(integer_in(event, "pid")));
  } else if (event.what == "generation") {
    GenerationSeen& generation = generations_[integer_in(event, "generation")];
    generation.has_joiner = generation.has_joiner || text_in(event, "cause") == "join";
    generation.members.clear();
    for (const Json& member : event.find("members")->array()) generation.members.push_back(member.integer());
  } else if (event.what == "step") {
    generations_[integer_in(event, "generation")].first_step_us.try_emplace(event.rank, event.t_us);
    last_step_ = std::max(last_step_, integer_in(event, "step"));
  } else if (event.what == "heal") {
    ++heals_;
  } else if (event.what == "lost") {
    errors_.push_back(text_in(event, "error"));
  } else if (event.what == "end") {
    ends_[event.rank] = {integer_in(event, "step"), text_in(event, "digest")};
  }
}

bool SoakJob::comes(const std::function<bool()>& is_so, i64 within_s, useconds_t look_us) {
  const double until_ms = dist::launch::now_ms() + static_cast<double>(within_s) * 1e3;
  while (true) {
    look();
    if (is_so()) return true;
    if (dist::launch::now_ms() > until_ms) return false;
    usleep(look_us);
  }
}

i64 SoakJob::whole_after(i64 generation, i64 within_s) {
  const auto first_whole = [&] {
    return std::find_if(generations_.upper_bound(generation), generations_.end(), [](const auto& one) { return one.second.is_whole(); });
  };
  return comes([&] { return first_whole() != generations_.end(); }, within_s) ? first_whole()->first : 0;
}

std::optional<i64> SoakJob::next_step_us(i64 generation) const {
  for (auto one = generations_.upper_bound(generation); one != generations_.end(); ++one) {
    std::optional<i64> first;
    for (const auto& [rank, at_us] : one->second.first_step_us) first = std::min(first.value_or(at_us), at_us);
    if (first) return first;
  }
  return std::nullopt;
}

LedgerCut SoakJob::cut() {
  look();
  std::vector<pid_t> processes;
  for (const auto& [rank, process] : processes_) processes.push_back(static_cast<pid_t>(process));
  for (const pid_t process : processes) REQUIRE(kill(process, SIGSTOP) == 0);
  const bool all_stopped = std::ranges::all_of(processes, [](pid_t process) {
    for (int i = 0; i < 2000 && state_of(process) != 'T'; ++i) usleep(100);
    return state_of(process) == 'T';
  });
  LedgerCut cut;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder() + "/ledger")) {
    cut[entry.path().filename().string()] = entry.file_size();
  }
  for (const pid_t process : processes) kill(process, SIGCONT);
  REQUIRE(all_stopped);
  return cut;
}

std::string SoakJob::folder_at(const LedgerCut& cut) const {
  const std::string folder = out_.path() + "/cut";
  fs::remove_all(folder);
  fs::create_directories(folder);
  for (const auto& [name, bytes] : cut) {
    fs::copy_file(out_.path() + "/ledger/" + name, folder + "/" + name);
    fs::resize_file(folder + "/" + name, bytes);
  }
  return folder;
}

int SoakJob::end() {
  std::ofstream(out_.path() + "/stop") << "now";
  const int code = launcher_.wait();
  look();
  return code;
}

std::size_t descriptors_of(pid_t process) {
  std::size_t count = 0;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator(cat("/proc/", process, "/fd"), gone)) count += entry.path().empty() ? 0 : 1;
  return count;
}

i64 resident_kib_of(pid_t process) {
  std::ifstream status(cat("/proc/", process, "/status"));
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

std::set<std::string> shared_memory_files() {
  std::set<std::string> files;
  std::error_code gone;
  for (const char* folder : {"/dev/shm", "/dev/shm/resilin-"}) {
    const std::string path = folder[8] == '\0' ? std::string(folder) : cat(folder, getuid());
    for (const auto& entry : fs::directory_iterator(path, gone)) files.insert(entry.path().string());
  }
  return files;
}

std::vector<std::string> shared_memory_left(const std::set<pid_t>& processes, const std::string& name,
                                            const std::set<std::string>& before) {
  std::vector<std::string> left;
  std::ifstream segments("/proc/sysvipc/shm");
  std::string line;
  std::getline(segments, line);
  while (std::getline(segments, line)) {
    std::istringstream fields(line);
    i64 key = 0, id = 0, mode = 0, size = 0, maker = 0;
    if (fields >> key >> id >> mode >> size >> maker && processes.contains(static_cast<pid_t>(maker))) left.push_back(cat("segment ", id));
  }
  for (const std::string& file : shared_memory_files()) {
    const bool is_ours = file.find(name) != std::string::npos;
    const bool is_segment = fs::path(file).parent_path() == "/dev/shm" && !fs::is_directory(file) && !before.contains(file);
    // Other jobs of this user come and go; what nobody has mapped is nobody's.
    if (is_ours || (is_segment && !dist::launch::comes_true(
                                      [&] {
                                        if (!fs::exists(file)) return true;
                                        for (const auto& process : fs::directory_iterator("/proc")) {
                                          std::ifstream maps(process.path() / "maps");
                                          for (std::string map; std::getline(maps, map);) {
                                            if (map.ends_with(file)) return true;
                                          }
                                        }
                                        return false;
                                      },
                                      2))) {
      left.push_back(file);
    }
  }
  return left;
}

}  // namespace resilin::tool::soak
