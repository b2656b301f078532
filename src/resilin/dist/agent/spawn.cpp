// src/resilin/dist/agent/spawn.cpp -- fork, exec and wait.
#include "resilin/dist/agent/spawn.h"

#include <cerrno>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

std::string reason(int error) { return std::generic_category().message(error); }

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

/// All that the child needs between fork and exec, where it may neither allocate nor lock.
struct Plan {
  std::vector<char*> arguments;
  std::vector<char*> environment;
  cpu_set_t processors;
  bool pinned = false;
  int empty_input = -1;
  int failure = -1;  // where to write why exec failed
  pid_t parent = 0;
};

[[noreturn]] void give_up(const Plan& plan, int error) {
  static_cast<void>(!write(plan.failure, &error, sizeof error));
  _exit(127);
}

void start_fresh(const Program& program, const Plan& plan) {
  setpgid(0, 0);
  if (program.dies_with_parent) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != plan.parent) _exit(127);  // it died in between
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  signal(SIGPIPE, SIG_DFL);
  if (plan.pinned && sched_setaffinity(0, sizeof plan.processors, &plan.processors) != 0) give_up(plan, errno);
}

[[noreturn]] void run_program(const Program& program, const Plan& plan) {
  start_fresh(program, plan);
  if (dup2(plan.empty_input, STDIN_FILENO) < 0) give_up(plan, errno);
  if (program.out >= 0 && dup2(program.out, STDOUT_FILENO) < 0) give_up(plan, errno);
  if (program.err >= 0 && dup2(program.err, STDERR_FILENO) < 0) give_up(plan, errno);
  for (const int kept : program.kept) {
    if (fcntl(kept, F_SETFD, 0) != 0) give_up(plan, errno);
  }
  execvpe(plan.arguments[0], plan.arguments.data(), plan.environment.data());
  give_up(plan, errno);
}

Plan make_plan(const Program& program) {
  Plan plan;
  plan.arguments = pointers_to(program.arguments);
  plan.environment = pointers_to(program.environment);
  CPU_ZERO(&plan.processors);
  for (const int processor : program.processors) {
    if (processor >= 0 && processor < CPU_SETSIZE) CPU_SET(processor, &plan.processors);
  }
  plan.pinned = !program.processors.empty();
  plan.parent = getpid();
  return plan;
}

}  // namespace

Child::Child(const Program& program) {
  RESILIN_ASSERT(!program.arguments.empty(), "a program has a name");
  Plan plan = make_plan(program);
  const Descriptor empty_input(open("/dev/null", O_RDONLY | O_CLOEXEC));
  int ends[2];
  if (!empty_input || pipe2(ends, O_CLOEXEC) != 0) {
    throw IoError(cat("spawn: no descriptor is left: ", reason(errno), ": ", program.arguments[0], "; three are needed"));
  }
  const Descriptor failure_read(ends[0]);
  Descriptor failure_write(ends[1]);
  plan.empty_input = empty_input.get();
  plan.failure = failure_write.get();
  // Not fork: its handlers are for children that go on with this program.
  process_ = _Fork();
  if (process_ < 0) throw IoError(cat("spawn: no process is left: ", reason(errno), ": ", program.arguments[0], "; one is needed"));
  if (process_ == 0) run_program(program, plan);
  setpgid(process_, process_);  // as the child does itself, whoever comes first
  failure_write.close();
  descriptor_ = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, process_, 0)));
  int error = descriptor_ ? 0 : errno;
  if (error == 0) {
    ssize_t count = 0;
    do {
      count = read(failure_read.get(), &error, sizeof error);
    } while (count < 0 && errno == EINTR);
    if (count == 0) return;
  } else {
    kill(process_, SIGKILL);
  }
  waitpid(process_, nullptr, 0);
  reaped_ = true;
  throw IoError(cat("spawn: ", reason(error), ": ", program.arguments[0], "; the program must be there and executable"));
}

Child::Child(Child&& other) noexcept
    : process_(other.process_), reaped_(std::exchange(other.reaped_, true)), descriptor_(std::move(other.descriptor_)) {}

Child::~Child() {
  if (reaped_) return;
  kill(process_, SIGKILL);
  kill(-process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) continue;
}

void Child::send_signal(int signal) const {
  if (!reaped_) kill(process_, signal);  // not reaped: the number is still its own
}

std::optional<ProcessEnd> Child::reap() {
  if (reaped_) return std::nullopt;
  int status = 0;
  const pid_t done = waitpid(process_, &status, WNOHANG);
  if (done == 0 || (done < 0 && errno == EINTR)) return std::nullopt;
  kill(-process_, SIGKILL);
  reaped_ = true;
  if (done < 0) return ProcessEnd{};  // somebody else reaped it
  return process_end_of(status);
}

ForeignProcess::ForeignProcess(pid_t process) : process_(process), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {
  if (!descriptor_) throw IoError(cat("watch: process ", process, " cannot be watched: ", reason(errno), "; it must run on this host"));
}

void ForeignProcess::send_signal(int signal) const { syscall(SYS_pidfd_send_signal, descriptor_.get(), signal, nullptr, 0); }

bool ForeignProcess::has_ended() const {
  pollfd waited{descriptor_.get(), POLLIN, 0};
  return poll(&waited, 1, 0) == 1;
}

std::optional<unsigned long long> start_time_of(pid_t process) {
  std::string text;
  try {
    text = read_file(cat("/proc/", process, "/stat"));
  } catch (const IoError&) {
    return std::nullopt;  // there is no such process: what was asked
  }
  // The name in brackets may hold anything; after it come the fields from the third on, the start time is the 22nd.
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  std::string state, skipped;
  fields >> state;
  if (state == "Z" || state == "X") return std::nullopt;
  for (int i = 4; i < 22; ++i) fields >> skipped;
  unsigned long long start = 0;
  if (fields >> start) return start;
  return std::nullopt;
}

}  // namespace resilin::dist
