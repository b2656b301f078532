// src/resilin/dist/launch/host_agent.cpp -- ranks of a host elect one that starts their agent.
#include "resilin/dist/launch/host_agent.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/base/reflect.h"
#include "resilin/dist/agent/spawn.h"
#include "resilin/dist/environment.h"
#include "resilin/dist/launch/job_store.h"
#include "resilin/dist/launch/run_folder.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr std::string_view kMeeting = "/meeting";
constexpr nanoseconds kStartTimeout = std::chrono::seconds(30);
constexpr milliseconds kStoreGrace{3000};
constexpr int kMostTries = 3;
/// Without a rank the agent waits no longer: who came first and died was the last, or the others find a new one.
constexpr std::string_view kLonelyTimeout = "--rdzv-conf=join_timeout=10";

/// What the rank that started the agent leaves in the agent's folder for the others.
struct Meeting {
  std::string job;
  i64 process = 0;  // of the agent
  std::uint64_t start_time = 0;
  std::string store_address;
  std::string agent_address;
  std::string secret_file;
  static constexpr auto fields() {
    return std::tuple{field("job", &Meeting::job),
                      field("process", &Meeting::process),
                      field("start_time", &Meeting::start_time),
                      field("store_address", &Meeting::store_address),
                      field("agent_address", &Meeting::agent_address),
                      field("secret_file", &Meeting::secret_file)};
  }
};

/// Of processes that know of each other nothing but their job: what the launcher calls it, where its ranks meet, or who started them.
std::string job_of(const RankInfo& rank) {
  if (!rank.run_id.empty()) return rank.run_id;
  if (!rank.master_addr.empty()) return cat("at-", rank.master_addr, "-", rank.master_port);
  return cat("of-", getppid(), "-", start_time_of(getppid()).value_or(0));
}

/// Held while a rank looks for the agent and starts one; a folder can be locked and nothing is left of it.
class Turn {
 public:
  explicit Turn(const std::string& base) : folder_(open(base.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (!folder_) throw IoError(cat("agent: the folder of this user's jobs cannot be opened: ", base, "; it must be readable"));
    while (flock(folder_.get(), LOCK_EX) != 0) {
      if (errno != EINTR) throw IoError(cat("agent: the folder of this user's jobs cannot be locked: ", base, "; locks are needed"));
    }
  }

 private:
  Descriptor folder_;
};

bool lives(const Meeting& meeting) { return start_time_of(static_cast<pid_t>(meeting.process)) == meeting.start_time; }

std::optional<Meeting> read_meeting(const std::string& path) {
  if (access(path.c_str(), R_OK) != 0) return std::nullopt;
  try {
    return decode<Meeting>(read_file(path));
  } catch (const IoError&) {
    return std::nullopt;  // its agent has ended meanwhile
  } catch (const DistError&) {
    return std::nullopt;  // another build's
  }
}

std::optional<Meeting> find_meeting(const std::string& base, const std::string& job) {
  std::error_code failed;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(base, failed)) {
    std::optional<Meeting> meeting = read_meeting(entry.path().string() + std::string(kMeeting));
    if (!meeting || meeting->job != job) continue;
    if (lives(*meeting)) return meeting;
  }
  return std::nullopt;
}

/// All that the program prints, until nobody can print any more.
std::string read_all(const Descriptor& from) {
  const nanoseconds deadline = machine_clock().now() + kStartTimeout;
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    const nanoseconds left = deadline - machine_clock().now();
    pollfd waited{from.get(), POLLIN, 0};
    if (left <= nanoseconds(0)) throw StoreError(cat("agent: it does not come up; it had ", kStartTimeout / std::chrono::seconds(1), " s"));
    if (poll(&waited, 1, static_cast<int>(left / milliseconds(1)) + 1) <= 0) continue;
    const ssize_t count = read(from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
}

std::string variable(const std::string& text, std::string_view name) {
  const std::string begin = cat("export ", name, "='");
  const std::size_t at = text.find(begin);
  const std::size_t end = at == std::string::npos ? at : text.find('\'', at + begin.size());
  if (end == std::string::npos) throw StoreError(cat("agent: it could not be started; what it said is on the standard error of this rank"));
  return text.substr(at + begin.size(), end - at - begin.size());
}

std::string run_agent_program(const RankInfo& rank, const std::string& job) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw IoError("agent: no descriptor is left; two are needed");
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  Program program;
  program.arguments = {plugin_path("resilin"), "agent", cat("--nproc-per-node=", rank.world_size), cat("--rdzv-id=", job),
                       std::string(kLonelyTimeout)};
  for (char** one = environ; *one != nullptr; ++one) program.environment.emplace_back(*one);
  program.out = write_end.get();
  const Child child(program);
  write_end.close();
  return read_all(read_end);  // the child has ended then, but for the agent, which is a child of its own
}

Meeting start_agent(const RankInfo& rank, const std::string& job) {
  const std::string text = run_agent_program(rank, job);
  Meeting meeting;
  meeting.job = job;
  meeting.store_address = variable(text, "RESILIN_STORE");
  meeting.agent_address = variable(text, "RESILIN_AGENT");
  meeting.secret_file = variable(text, "RESILIN_SECRET_FILE");
  meeting.process = parse_integer(variable(text, "RESILIN_AGENT_PID"));
  meeting.start_time = start_time_of(static_cast<pid_t>(meeting.process)).value_or(0);
  atomic_write(std::filesystem::path(meeting.secret_file).parent_path().string() + std::string(kMeeting), encode(meeting));
  return meeting;
}

void require_one_host(const RankInfo& rank) {
  if (rank.local_world_size == rank.world_size) return;
  const std::string what = rank.group_world_size > 1
                               ? cat("the job has ", rank.group_world_size, " hosts")
                               : cat("of ", rank.world_size, " ranks ", rank.local_world_size, " are known to run on this host");
  throw UnsupportedError(
      cat("init_process_group: no agent is in the environment, and ", what,
          "; a job of several hosts needs `resilin agent --nnodes N --node-rank I --rdzv-endpoint HOST:PORT --secret-file FILE "
          "--nproc-per-node R` on each of them before its ranks start; LOCAL_WORLD_SIZE = WORLD_SIZE says that there is one host"));
}

Meeting meet(const RankInfo& rank) {
  require_one_host(rank);
  const std::string base = run_base(), job = job_of(rank);
  ensure_run_base(base);
  const Turn turn(base);
  if (std::optional<Meeting> found = find_meeting(base, job)) return *found;
  return start_agent(rank, job);
}

RankInfo joined(const RankInfo& rank, const Meeting& meeting) {
  RankInfo result = rank;
  result.store_address = meeting.store_address;
  result.agent_address = meeting.agent_address;
  result.secret_file = meeting.secret_file;
  number_this_life(result, *connect_job_store(result, kStoreGrace));
  return result;
}

/// The agent of an earlier job of this name may be about to end when it is found.
RankInfo join(const RankInfo& rank) {
  for (int tries = 1;; ++tries) {
    const Meeting meeting = meet(rank);
    try {
      return joined(rank, meeting);
    } catch (const StoreError&) {
      if (tries == kMostTries || lives(meeting)) throw;
    } catch (const IoError&) {
      if (tries == kMostTries || lives(meeting)) throw;
    }
  }
}

}  // namespace

void find_host_agent(RankInfo& rank) {
  static std::mutex mutex;
  static std::optional<RankInfo> known;
  static std::uint64_t life = 0;  // of the process that knows it
  const std::lock_guard<std::mutex> lock(mutex);
  if (!known || life != process_life()) {
    known = join(rank);
    life = process_life();
  }
  rank = *known;
}

}  // namespace resilin::dist
