// src/resilin/dist/launch/options.cpp -- the table of flags of `resilin run` and how they are read.
#include "resilin/dist/launch/options.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "resilin/base/cpu_count.h"
#include "resilin/base/error.h"
#include "resilin/base/reflect.h"
#include "resilin/base/text.h"

namespace resilin::dist {
namespace {

constexpr i64 kMostRanksOfNode = 1024;
constexpr i64 kMostNodes = 65536;

enum class Command { Run, Agent };
enum class For { Run, Agent, Both };

struct Flag {
  std::string_view name;   // without the dashes
  char letter;             // of the short form, or 0
  std::string_view value;  // what it is called in the help; empty when the flag takes none
  std::string_view doc;
  void (*apply)(RunOptions&, std::string_view value);
  For commands = For::Run;

  bool is_for(Command command) const { return commands == For::Both || (commands == For::Agent) == (command == Command::Agent); }
};

[[noreturn]] void refuse(std::string_view flag, std::string_view value, std::string_view must) {
  throw ArgumentError(cat("run: --", flag, " does not take this value: \"", value, "\"; ", must));
}

i64 parse_number(std::string_view flag, std::string_view value, i64 least, i64 most) {
  const bool digits = !value.empty() && value.size() <= 18 && value.find_first_not_of("0123456789") == std::string_view::npos;
  const i64 number = digits ? parse_integer(value) : -1;
  if (number < least || number > most) refuse(flag, value, cat("a number from ", least, " to ", most, " is needed"));
  return number;
}

std::chrono::milliseconds parse_seconds(std::string_view flag, std::string_view value) {
  double seconds = -1;
  try {
    seconds = parse_float(value);
  } catch (const ArgumentError&) {
    refuse(flag, value, "a number of seconds is needed");
  }
  if (!(seconds >= 0 && seconds <= 1e6)) refuse(flag, value, "seconds from 0 to 1000000 are needed");
  return std::chrono::milliseconds(static_cast<i64>(seconds * 1000));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Streams parse_streams(std::string_view flag, std::string_view value) {
  const i64 number = parse_number(flag, value, 0, 3);
  return {(number & 1) != 0, (number & 2) != 0};
}

StreamChoice parse_choice(std::string_view flag, std::string_view value) {
  StreamChoice choice;
  if (value.find(':') == std::string_view::npos) {
    choice.all = parse_streams(flag, value);
    return choice;
  }
  for (const std::string_view part : split(value, ',')) {
    const std::size_t colon = part.find(':');
    if (colon == std::string_view::npos) refuse(flag, value, "0, 1, 2, 3 or RANK:NUMBER,... is needed");
    choice.by_rank[parse_number(flag, part.substr(0, colon), 0, kMostRanksOfNode - 1)] = parse_streams(flag, part.substr(colon + 1));
  }
  return choice;
}

void set_nodes(RunOptions& options, std::string_view value) {
  const std::size_t colon = value.find(':');
  options.min_nodes = parse_number("nnodes", value.substr(0, colon), 1, kMostNodes);
  options.max_nodes = colon == std::string_view::npos ? options.min_nodes : parse_number("nnodes", value.substr(colon + 1), 1, kMostNodes);
  if (options.max_nodes < options.min_nodes) refuse("nnodes", value, "MIN must not exceed MAX");
}

void set_ranks(RunOptions& options, std::string_view value) {
  if (value == "gpu") throw UnsupportedError("run: --nproc-per-node gpu: there is no GPU device here; a number, cpu or auto is taken");
  const bool counted = value == "auto" || value == "cpu";
  options.ranks_per_node = counted ? usable_cpu_count() : parse_number("nproc-per-node", value, 1, kMostRanksOfNode);
}

void set_backend(RunOptions& options, std::string_view value) {
  if (value.starts_with("etcd")) {
    throw UnsupportedError("run: --rdzv-backend etcd: there is no client of etcd here; static and c10d use the agent's own store");
  }
  if (value != "static" && value != "c10d") refuse("rdzv-backend", value, "static or c10d is needed");
  options.rdzv_backend = value;
}

void set_conf(RunOptions& options, std::string_view value) {
  for (const std::string_view part : split(value, ',')) {
    const std::size_t equals = part.find('=');
    const std::string_view key = part.substr(0, equals);
    const std::string_view text = equals == std::string_view::npos ? std::string_view() : part.substr(equals + 1);
    if (key == "join_timeout" || key == "timeout") {
      options.join_timeout = parse_seconds("rdzv-conf", text);
    } else if (key == "last_call_timeout") {
      options.last_call_timeout = parse_seconds("rdzv-conf", text);
    } else {
      refuse("rdzv-conf", value, "join_timeout=SECONDS and last_call_timeout=SECONDS are known");
    }
  }
}

void set_policy(RunOptions& options, std::string_view value) {
  if (value == "spare") throw UnsupportedError("run: --policy spare: no rank waits in reserve yet; shrink and respawn exist");
  if (value == "gang") {
    throw UnsupportedError(
        "run: --policy gang: all ranks are never restarted for one; shrink and respawn exist, --max-restarts 0 ends the job");
  }
  if (value != "shrink" && value != "respawn") refuse("policy", value, "shrink or respawn is needed");
  options.policy = enum_parse<Policy>(value);
}

void set_chaos(RunOptions& options, std::string_view value) {
  parse_chaos(value);  // refused now rather than in the job
  options.chaos = value;
}

constexpr Flag kFlags[] = {
    {"nnodes", 0, "N or MIN:MAX", "Hosts of the job.", set_nodes, For::Both},
    {"nproc-per-node", 0, "N", "Ranks of this host; cpu and auto are the usable processors.", set_ranks, For::Both},
    {"standalone", 0, "", "One host: Unix sockets and loopback only, nothing to agree on with others.",
     [](RunOptions& options, std::string_view) { options.standalone = true; }},
    {"rdzv-backend", 0, "NAME", "static: by --node-rank; c10d: by order of arrival. Both use the store of the first agent.", set_backend},
    {"rdzv-endpoint", 0, "HOST:PORT", "Where the first agent serves the store; it binds this address alone.",
     [](RunOptions& options, std::string_view value) { options.rdzv_endpoint = value; }, For::Both},
    {"rdzv-id", 0, "NAME", "Name of the job.", [](RunOptions& options, std::string_view value) { options.rdzv_id = value; }, For::Both},
    {"rdzv-conf", 0, "KEY=VALUE,...", "join_timeout and last_call_timeout, in seconds.", set_conf, For::Both},
    {"node-rank", 0, "N", "Number of this host, for static.",
     [](RunOptions& options, std::string_view value) { options.node_rank = parse_number("node-rank", value, 0, kMostNodes - 1); },
     For::Both},
    {"master-addr", 0, "HOST", "MASTER_ADDR of the ranks, and of the store when --rdzv-endpoint is not given.",
     [](RunOptions& options, std::string_view value) { options.master_addr = value; }},
    {"master-port", 0, "PORT", "MASTER_PORT of the ranks, and of the store when --rdzv-endpoint is not given.",
     [](RunOptions& options, std::string_view value) { options.master_port = parse_number("master-port", value, 0, 65535); }},
    {"local-addr", 0, "HOST", "Address of this host for others.",
     [](RunOptions& options, std::string_view value) { options.local_addr = value; }},
    {"role", 0, "NAME", "ROLE_NAME of the ranks.", [](RunOptions& options, std::string_view value) { options.role = value; }},
    {"policy", 0, "NAME", "What a rank's death means: shrink goes on without it, respawn starts it again, up to --max-restarts.",
     set_policy},
    {"max-restarts", 0, "N", "Ranks that are started again on this host, all together, before the job has failed.",
     [](RunOptions& options, std::string_view value) { options.max_restarts = parse_number("max-restarts", value, 0, 1'000'000'000); }},
    {"min-ranks", 0, "N", "Fewer ranks on this host, and a shrinking job has failed.",
     [](RunOptions& options, std::string_view value) { options.min_ranks = parse_number("min-ranks", value, 1, kMostRanksOfNode); }},
    {"chaos", 0, "PLAN", "Faults on purpose: kill:RANK@STEP;stop:RANK@STEP,TIME;seed=NUMBER.", set_chaos},
    {"events", 0, "FILE", "Starts, faults on purpose and ends of ranks, one JSON object a line, are appended to this file.",
     [](RunOptions& options, std::string_view value) {
       if (value.empty()) refuse("events", value, "the name of a file is needed");
       options.events = value;
     }},
    {"heartbeat-timeout", 0, "SECONDS", "A rank that beats is suspected after this silence.",
     [](RunOptions& options, std::string_view value) { options.heartbeat_timeout = parse_seconds("heartbeat-timeout", value); }, For::Both},
    {"stop-grace", 0, "SECONDS", "From SIGTERM to SIGKILL when the job ends early.",
     [](RunOptions& options, std::string_view value) { options.stop_grace = parse_seconds("stop-grace", value); }, For::Both},
    {"log-dir", 0, "FOLDER", "Where output of ranks is kept: FOLDER/ID/RANK/LIFE/stdout.log; alone it implies --tee 3.",
     [](RunOptions& options, std::string_view value) { options.log_dir = value; }},
    {"redirects", 'r', "N", "Streams that go to files only: 0 none, 1 stdout, 2 stderr, 3 both, or RANK:N,...",
     [](RunOptions& options, std::string_view value) { options.redirects = parse_choice("redirects", value); }},
    {"tee", 't', "N", "Streams that go to files and, with the rank in front of each line, here.",
     [](RunOptions& options, std::string_view value) { options.tee = parse_choice("tee", value); }},
    {"secret-file", 0, "FILE", "The job's secret: 32 bytes, mode 0600. A job of one host makes its own.",
     [](RunOptions& options, std::string_view value) { options.secret_file = value; }, For::Both},
    {"no-python", 0, "", "Always so: the program is run as it is.", [](RunOptions&, std::string_view) {}},
    {"foreground", 0, "", "Stays in this process.", [](RunOptions& options, std::string_view) { options.foreground = true; }, For::Agent},
    {"help", 'h', "", "Prints this.", [](RunOptions& options, std::string_view) { options.help = true; }, For::Both},
};

/// Flags of torchrun that mean nothing here.
struct Absent {
  std::string_view name;
  char letter;
  std::string_view why;
};
constexpr Absent kAbsent[] = {
    {"module", 'm', "programs are run as they are; give python3 -m MODULE as the program"},
    {"run-path", 0, "programs are run as they are"},
    {"start-method", 0, "ranks are always processes of their own"},
    {"monitor-interval", 0, "the agent learns of an end from the kernel at once, it does not ask"},
    {"event-log-handler", 0, "events go to the log, the store and the file of --events"},
    {"logs-specs", 0, "--log-dir, --redirects and --tee say where output goes"},
    {"numa-binding", 0, "ranks get processors of their own whenever there are enough"},
    {"local-ranks-filter", 0, "--tee takes RANK:N,..."},
};

/// Dashes for underscores: torchrun takes both.
std::string plain_name(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, '_', '-');
  return result;
}

[[noreturn]] void refuse_unknown(Command command, std::string_view given, std::string_view name, char letter) {
  for (const Absent& absent : kAbsent) {
    if (command == Command::Agent) break;
    if (absent.name == name || (letter != 0 && absent.letter == letter)) {
      throw UnsupportedError(cat("run: ", given, " has no meaning here: ", absent.why));
    }
  }
  std::vector<std::string_view> names;
  for (const Flag& flag : kFlags) {
    if (flag.is_for(command)) names.push_back(flag.name);
  }
  throw ArgumentError(cat(command == Command::Run ? "run" : "agent", ": unknown flag: ", given, "; did you mean --",
                          nearest_name(name, names.data(), names.size()), "?"));
}

const Flag& find_flag(Command command, std::string_view given) {
  const bool long_form = given.starts_with("--");
  const std::string name = long_form ? plain_name(given.substr(2)) : std::string(given.substr(1));
  const char letter = !long_form && given.size() == 2 ? given[1] : '\0';
  for (const Flag& flag : kFlags) {
    if (flag.is_for(command) && (long_form ? flag.name == name : letter != 0 && flag.letter == letter)) return flag;
  }
  refuse_unknown(command, given, name, letter);
}

/// Flags up to the program, which is the first argument without a dash.
std::vector<const Flag*> read_flags(Command command, std::span<const std::string> arguments, RunOptions& options) {
  std::vector<const Flag*> given;
  std::size_t at = 0;
  for (; at < arguments.size() && arguments[at].starts_with("-"); ++at) {
    const std::string_view argument = arguments[at];
    if (argument == "--") {
      ++at;
      break;
    }
    const std::size_t equals = argument.find('=');
    const Flag& flag = find_flag(command, argument.substr(0, equals));
    given.push_back(&flag);
    if (flag.value.empty()) {
      if (equals != std::string_view::npos) throw ArgumentError(cat("run: --", flag.name, " takes no value: ", argument));
      flag.apply(options, {});
    } else if (equals != std::string_view::npos) {
      flag.apply(options, argument.substr(equals + 1));
    } else if (at + 1 < arguments.size()) {
      flag.apply(options, arguments[++at]);
    } else {
      throw ArgumentError(cat("run: --", flag.name, " needs a value: ", flag.value));
    }
  }
  options.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(std::min(at, arguments.size())), arguments.end());
  return given;
}

void read_environment(Command command, const Environment& environment, const std::vector<const Flag*>& given, RunOptions& options) {
  for (const Flag& flag : kFlags) {
    if (!flag.is_for(command) || std::ranges::find(given, &flag) != given.end() || flag.name == "help") continue;
    std::string name = "PET_";
    for (const char c : flag.name) name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    const std::optional<std::string> value = environment(name);
    if (!value || value->empty()) continue;
    if (flag.value.empty() && *value == "0") continue;
    flag.apply(options, *value);
  }
}

void check(const RunOptions& options) {
  if (options.program.empty()) throw ArgumentError("run: no program is given; resilin run [FLAGS] PROGRAM [ARGUMENTS] is needed");
  if (options.standalone && options.max_nodes > 1) {
    throw ArgumentError(
        cat("run: --standalone is one host: --nnodes is ", options.min_nodes, ":", options.max_nodes, "; give one of them"));
  }
  if (options.policy == Policy::Shrink && options.min_ranks > options.ranks_per_node) {
    throw ArgumentError(
        cat("run: --min-ranks is ", options.min_ranks, ", --nproc-per-node ", options.ranks_per_node, "; it must not be more"));
  }
  if (options.log_dir.empty() && (options.redirects.any() || options.tee.any())) {
    throw ArgumentError("run: --redirects and --tee write files; --log-dir must say where");
  }
}

RunOptions parse_options(Command command, std::span<const std::string> arguments, const Environment& environment) {
  RunOptions from_flags;
  const std::vector<const Flag*> given = read_flags(command, arguments, from_flags);
  if (from_flags.help) return from_flags;
  RunOptions options;
  read_environment(command, environment, given, options);
  read_flags(command, arguments, options);
  if (!options.log_dir.empty() && !options.redirects.any() && !options.tee.any()) options.tee.all = {true, true};
  return options;
}

std::string flag_help(Command command) {
  std::string text;
  for (const Flag& flag : kFlags) {
    if (!flag.is_for(command)) continue;
    std::string left = flag.letter != 0 ? cat("  -", flag.letter, ", --", flag.name) : cat("  --", flag.name);
    if (!flag.value.empty()) left += cat(" ", flag.value);
    left.resize(std::max<std::size_t>(left.size() + 2, 32), ' ');
    text += cat(left, flag.doc, "\n");
  }
  return text;
}

}  // namespace

Streams StreamChoice::of(i64 local_rank) const {
  const auto found = by_rank.find(local_rank);
  return found == by_rank.end() ? all : found->second;
}

RunOptions parse_run_options(std::span<const std::string> arguments, const Environment& environment) {
  const RunOptions options = parse_options(Command::Run, arguments, environment);
  if (!options.help) check(options);
  return options;
}

RunOptions parse_agent_options(std::span<const std::string> arguments, const Environment& environment) {
  const RunOptions options = parse_options(Command::Agent, arguments, environment);
  if (!options.program.empty()) throw ArgumentError(cat("agent: it starts no program: ", options.program, "; resilin run does"));
  return options;
}

std::string run_help() {
  return "usage: resilin run [FLAGS] PROGRAM [ARGUMENTS]\n"
         "Starts PROGRAM once for each rank of a job, watches the ranks and says how the job ended. Each flag may also be set as "
         "PET_NAME.\n\n" +
         flag_help(Command::Run);
}

std::string agent_help() {
  return "usage: eval \"$(resilin agent [FLAGS])\"; srun PROGRAM\n"
         "Serves the store of a job whose ranks another launcher starts, and watches those of this host. Prints the variables they "
         "need.\n\n" +
         flag_help(Command::Agent);
}

}  // namespace resilin::dist
