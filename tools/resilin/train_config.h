// tools/resilin/train_config.h -- what a run of `resilin train` is set to: a TOML file and words of the command line.
#pragma once

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "resilin/base/text.h"

namespace resilin::tool {

/// Auto: from the newest checkpoint when there is one. Must: a run without one is refused.
enum class Resume { Auto, Never, Must };
constexpr std::array<std::string_view, 3> enum_names(Resume*) { return {"auto", "never", "must"}; }

/// Auto: Line on a terminal, Plain elsewhere.
enum class ProgressForm { Auto, Line, Plain, Off };
constexpr std::array<std::string_view, 4> enum_names(ProgressForm*) { return {"auto", "line", "plain", "off"}; }

/// The members' names are the keys of the file, and their initial values the defaults. What each means stands in the table of train_config.cpp.
struct TrainConfig {
  struct Data {
    std::string text;  // must be given
    double held_out = 0.05;
    i64 measure_every = 0;
  } data;
  struct Model {
    i64 layers = 4;
    i64 heads = 4;
    i64 width = 128;
    i64 length = 64;
    double dropout = 0;
  } model;
  struct Train {
    i64 steps = 2000;
    double budget_s = 0;
    i64 seed = 1;
    i64 slots = 12;
    i64 slot_batch = 1;
    double lr = 3e-3;
    double min_lr = 3e-4;  // lr / 10 where it is not given
    i64 warmup = 100;      // at most steps / 10 + 1 where it is not given
    double weight_decay = 0.1;
    double beta1 = 0.9;
    double beta2 = 0.99;
    double clip = 1;
  } train;
  struct Elastic {
    bool fault_tolerance = true;
    i64 digest_every = 10;
    double step_timeout_s = 30;
    double heal_timeout_s = 30;
    i64 min_world = 1;
  } elastic;
  struct Checkpoint {
    i64 every = 100;
    i64 keep = 3;
    Resume resume = Resume::Auto;
  } checkpoint;
  struct Run {
    std::string out = "run";
    ProgressForm progress = ProgressForm::Auto;
    i64 http_port = 0;
  } run;
};

/// Reads a text of TOML and then, as if they stood below it, words "table.key=value". A value is TOML; what is none is a text, so that paths
/// need no quotes. `source` is what errors call the text.
///
/// Errors  ArgumentError that begins with file:line (or "command line") and names key and value: no TOML, an unknown key (with the nearest
///         known one), a value of another type or out of its range, keys that do not fit each other, no data.text
TrainConfig parse_train_config(std::string_view toml, const std::string& source, std::span<const std::string> words = {});

/// What stands behind `resilin train`.
struct TrainCommand {
  bool help = false;
  TrainConfig config;
};

/// Reads CONFIG.toml [KEY=VALUE]... [--resume auto|never|must] [--help], in any order; of words that set the same key the last one holds.
/// Errors as above; IoError when the file cannot be read.
TrainCommand read_train_command(std::span<const std::string> arguments);

/// What --help prints.
std::string train_help();

/// The rows of docs/train-config.md: key, type, default, what must hold, meaning.
std::vector<std::string> train_key_rows();

}  // namespace resilin::tool
