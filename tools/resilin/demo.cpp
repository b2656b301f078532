// tools/resilin/demo.cpp -- `resilin demo`: a job under the launcher, followed by its events, and what its files prove afterwards.
#include "tools/resilin/demo.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"
#include "resilin/dist/launch/run.h"

#include "tools/resilin/follow.h"
#include "tools/resilin/ledger.h"
#include "tools/resilin/number_text.h"
#include "tools/resilin/report.h"
#include "tools/resilin/run_result.h"
#include "tools/resilin/train_config.h"

namespace resilin::tool {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUsage =
    "usage: resilin demo CONFIG.toml [--ranks N] [--chaos FAULTS] [KEY=VALUE]...   ranks of this host train, faults strike, the run is "
    "accounted for\n"
    "       --ranks 4, --chaos kill:2@50 and the configuration's own values where nothing else is said\n";
constexpr useconds_t kLook_us = 30'000;

struct DemoOptions {
  std::string ranks = "4";
  std::string chaos = "kill:2@50";
  std::vector<std::string> train;  // arguments of resilin train
};

DemoOptions read_options(const std::vector<std::string>& arguments) {
  DemoOptions options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string* const taken = arguments[i] == "--ranks" ? &options.ranks : arguments[i] == "--chaos" ? &options.chaos : nullptr;
    if (taken == nullptr) {
      options.train.push_back(arguments[i]);
    } else if (i + 1 == arguments.size()) {
      throw ArgumentError(cat("demo: ", arguments[i], " lacks its value"));
    } else {
      *taken = arguments[++i];
    }
  }
  return options;
}

/// What an earlier run left in the folder and this one writes anew.
void clear(const std::string& folder) {
  fs::create_directories(folder);
  for (const char* name : {"events.jsonl", "ledger", "checkpoints", "result.json", "report.html", "launcher.log"})
    fs::remove_all(folder + "/" + name);
}

/// The launcher in a process of its own, which writes to a log.
class JobProcess {
 public:
  JobProcess(const std::vector<std::string>& arguments, const std::string& log) : process_(fork()) {
    if (process_ < 0) throw IoError("demo: no process can be started");
    if (process_ == 0) run(arguments, log);
  }
  ~JobProcess() {
    if (process_ < 0) return;
    kill(process_, SIGTERM);
    waitpid(process_, nullptr, 0);
  }
  JobProcess(const JobProcess&) = delete;
  JobProcess& operator=(const JobProcess&) = delete;

  /// Whether it has ended.
  bool look() {
    int status = 0;
    if (process_ >= 0 && waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    return process_ < 0;
  }
  int code() const { return code_; }

 private:
  [[noreturn]] static void run(const std::vector<std::string>& arguments, const std::string& log) {
    const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    std::vector<std::string> variables;
    for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
    int code = 1;
    try {
      code = dist::run_job(arguments, variables);
    } catch (const std::exception& error) {
      dprintf(STDERR_FILENO, "resilin: %s\n", error.what());
    }
    _exit(code);
  }

  pid_t process_;
  int code_ = 0;
};

std::vector<std::string> job_of(const DemoOptions& options, const TrainConfig& config) {
  std::vector<std::string> job = {"--standalone", cat("--nproc-per-node=", options.ranks), "--policy=respawn", "--max-restarts=20",
                                  cat("--events=", config.run.out, "/events.jsonl")};
  if (!options.chaos.empty()) job.push_back(cat("--chaos=", options.chaos));
  job.push_back(fs::read_symlink("/proc/self/exe").string());
  job.push_back("train");
  job.insert(job.end(), options.train.begin(), options.train.end());
  job.insert(job.end(), {"run.progress=off", "checkpoint.resume=never"});
  return job;
}

std::vector<Event> follow(JobProcess& job, const TrainConfig& config) {
  EventTail tail(config.run.out + "/events.jsonl");
  RunView view(config.run.progress, STDOUT_FILENO);
  std::vector<Event> all;
  for (bool has_ended = false; !has_ended;) {
    has_ended = job.look();
    do {
      for (Event& event : tail.read()) {
        view.show(event);
        all.push_back(std::move(event));
      }
    } while (tail.is_behind());
    if (!has_ended) usleep(kLook_us);
  }
  view.finish();
  return all;
}

void say(const RunResult& result) {
  const auto ms = [](const std::optional<double>& value) { return value ? fixed(*value, 0) + " ms" : std::string("-"); };
  std::printf(
      "killed -> next committed step %s (a step takes %s), respawned -> all ranks again %s\n"
      "%s steps, %s lost; samples missing %s, twice %s; fault tolerance took %s %% of the steps\n",
      ms(result.kill_to_next_commit_ms).c_str(), ms(result.step_ms_median).c_str(), ms(result.respawn_to_full_ms).c_str(),
      grouped(result.steps).c_str(), grouped(result.committed_steps_lost).c_str(), grouped(result.samples_missing).c_str(),
      grouped(result.samples_twice).c_str(), fixed(result.attributed_ft_percent.value_or(0), 2).c_str());
}

}  // namespace

int demo(const std::vector<std::string>& arguments) {
  const DemoOptions options = read_options(arguments);
  const TrainCommand command = read_train_command(options.train);
  if (command.help) {
    std::fputs((kUsage + train_help()).c_str(), stdout);
    return 0;
  }
  const TrainConfig& config = command.config;
  const std::string& out = config.run.out;
  clear(out);
  JobProcess job(job_of(options, config), out + "/launcher.log");
  const std::vector<Event> events = follow(job, config);
  if (job.code() != 0) {
    std::fprintf(stderr, "%sresilin: the job ended with %d\n", read_file(out + "/launcher.log").c_str(), job.code());
    return job.code();
  }
  const LedgerAccount account = verify_ledger(out);
  RunResult result = run_result(events, account, 1);
  result.report = out + "/report.html";
  atomic_write(out + "/result.json", result_json(result));
  write_report(out, result.report);
  std::fputs(ledger_text(account).c_str(), stdout);
  say(result);
  std::printf("%s\n", result.report.c_str());
  return account.holds() ? 0 : 3;
}

}  // namespace resilin::tool
