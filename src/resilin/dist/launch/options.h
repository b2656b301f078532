// src/resilin/dist/launch/options.h -- Internal: the flags of `resilin run`, which are torchrun's where both have one.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/dist/agent/machine.h"
#include "resilin/dist/launch/rank_info.h"

namespace resilin::dist {

/// Which of a rank's streams go somewhere else; torchrun's numbers 0 to 3.
struct Streams {
  bool out = false;
  bool err = false;
};

/// Streams for all local ranks, or for some of them ("3", "0:1,2:3").
struct StreamChoice {
  Streams all;
  std::map<i64, Streams> by_rank;
  Streams of(i64 local_rank) const;
  bool any() const { return all.out || all.err || !by_rank.empty(); }
};

struct RunOptions {
  i64 min_nodes = 1;
  i64 max_nodes = 1;
  i64 ranks_per_node = 1;
  bool standalone = false;
  std::string rdzv_backend = "static";
  std::string rdzv_endpoint;
  std::string rdzv_id = "none";
  std::chrono::milliseconds join_timeout{600'000};      // until enough nodes are there
  std::chrono::milliseconds last_call_timeout{30'000};  // for more, when enough are there
  std::optional<i64> node_rank;
  std::string master_addr;
  std::optional<i64> master_port;
  std::string local_addr;
  std::string role = "default";
  Policy policy = Policy::Respawn;
  i64 max_restarts = 0;
  i64 min_ranks = 1;
  std::string chaos;
  std::string events;  // empty: none are written
  std::chrono::milliseconds heartbeat_timeout{1'000};
  std::chrono::milliseconds stop_grace{30'000};
  std::string log_dir;
  StreamChoice redirects;
  StreamChoice tee;
  std::string secret_file;
  bool foreground = false;  // of `resilin agent`
  bool help = false;
  std::vector<std::string> program;  // and its arguments
};

/// Reads the arguments after `resilin run`. A flag that is not given is looked up as PET_<NAME> first. ArgumentError on flags and values
/// that do not exist, naming the nearest flag; UnsupportedError on those of torchrun that mean nothing here, saying why.
RunOptions parse_run_options(std::span<const std::string> arguments, const Environment& environment);

/// Reads the arguments after `resilin agent`, which starts no program.
RunOptions parse_agent_options(std::span<const std::string> arguments, const Environment& environment);

/// What --help prints.
std::string run_help();
std::string agent_help();

}  // namespace resilin::dist
