// tools/resilin/report_events.cpp -- what events.jsonl of a run says, with whatever is malformed left out and counted.
#include "tools/resilin/report_events.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <set>
#include <system_error>

#include "resilin/base/error.h"
#include "resilin/base/json.h"

#include "tools/resilin/lines.h"

namespace resilin::tool {
namespace {

constexpr double kLargest = 1e18;  // numbers beyond it are not drawn
constexpr i64 kLargestWhole = 1'000'000'000'000'000;
constexpr double kLatestUs = 1e17;

/// A number that can be drawn; `kUnknown` when it is missing or none.
double number_of(const Json& event, std::string_view key) {
  const Json* value = event.find(key);
  if (value == nullptr || !value->is_number() || std::abs(value->number()) > kLargest) return kUnknown;
  return value->number();
}

/// A number that can be counted on from; ArgumentError when it is missing or none.
i64 whole(const Json& event, std::string_view key) {
  const i64 value = event.at(key).integer();
  if (value < -kLargestWhole || value > kLargestWhole) throw ArgumentError(cat("events: ", key, " is ", value));
  return value;
}

i64 integer_of(const Json& event, std::string_view key, i64 fallback) {
  const Json* value = event.find(key);
  return value != nullptr && value->is_integer() ? whole(event, key) : fallback;
}

std::string text_of(const Json& event, std::string_view key) {
  const Json* value = event.find(key);
  return value != nullptr && value->is_text() ? value->text() : "";
}

double seconds(const Json& event, std::string_view key) {
  const double t_us = number_of(event, key);
  if (!(t_us >= 0 && t_us <= kLatestUs)) throw ArgumentError(cat("events: no time ", key));
  return t_us / 1e6;
}

/// Takes lines in; times are those of the clock until the end.
class Reader {
 public:
  void take(const Line& line);
  RunEvents finish();

 private:
  void take_agent(std::string_view what, const Json& event, double t_s);
  void take_rank(std::string_view what, const Json& event, double t_s);
  void take_run(const Json& event);
  void take_generation(const Json& event, double t_s);
  void take_step(const Json& event);
  void take_commit(const Json& event, double t_s);
  void add_ends();
  void shift(double& t_s) const { t_s -= begin_s_; }
  LifeKey life_of(const Json& event) const { return {whole(event, "rank"), integer_of(event, "life", 0)}; }

  RunEvents run_;
  std::map<i64, GenerationEvent> generations_;
  std::map<i64, CommitEvent> commits_;
  double begin_s_ = std::numeric_limits<double>::infinity();
  double end_s_ = -std::numeric_limits<double>::infinity();
};

void Reader::take(const Line& line) {
  try {
    if (line.cut) throw ArgumentError("events: too long");
    const Json event = parse_json(line.text);
    const double t_s = seconds(event, "t_us");
    const std::string& what = event.at("what").text();
    take_agent(what, event, t_s);
    take_rank(what, event, t_s);
    begin_s_ = std::min(begin_s_, t_s);
    end_s_ = std::max(end_s_, t_s);
    ++run_.events;
  } catch (const ArgumentError&) {
    if (!line.torn) ++run_.unreadable;
  }
}

void Reader::take_agent(std::string_view what, const Json& event, double t_s) {
  if (what == "start") {
    run_.lives[life_of(event)].start_s = t_s;
  } else if (what == "exit") {
    Life& life = run_.lives[life_of(event)];
    life.exit_s = t_s;
    life.cause = text_of(event, "cause");
  } else if (what == "kill") {
    const auto [rank, life] = life_of(event);
    const KillEvent kill{
        .t_s = t_s, .rank = rank, .life = life, .step = integer_of(event, "step", -1), .signal = whole(event, "signal"), .cause = {}};
    (kill.signal == SIGSTOP || kill.signal == SIGCONT ? run_.signals : run_.kills).push_back(kill);
  }
}

void Reader::take_rank(std::string_view what, const Json& event, double t_s) {
  if (what == "run") {
    take_run(event);
  } else if (what == "generation") {
    take_generation(event, t_s);
  } else if (what == "step") {
    take_step(event);
  } else if (what == "commit") {
    take_commit(event, t_s);
  } else if (what == "heal") {
    const auto [rank, life] = life_of(event);
    run_.heals.push_back({t_s, rank, life, integer_of(event, "generation", 0), integer_of(event, "step", 0), number_of(event, "bytes"),
                          number_of(event, "ms")});
  } else if (what == "held_out") {
    run_.held_out_step = integer_of(event, "step", -1);
    run_.held_out_loss = number_of(event, "loss");
    run_.bigram_entropy = number_of(event, "bigram_entropy");
  } else if (what == "sample") {
    run_.sample = text_of(event, "text");
  } else if (what == "leave") {
    run_.lives[life_of(event)].left = true;
  } else if (what == "goodput") {
    Goodput& goodput = run_.goodput[life_of(event)];
    for (std::size_t i = 0; i < kGoodputParts.size(); ++i) {
      const double part = number_of(event, cat(kGoodputParts[i], "_s"));
      goodput.parts_s[i] = part > 0 ? part : 0;
    }
    goodput.ft_s = number_of(event, "ft_s");
  }
}

void Reader::take_run(const Json& event) {
  run_.planned_steps = integer_of(event, "steps", run_.planned_steps);
  run_.batch = integer_of(event, "batch", run_.batch);
  run_.parameters = integer_of(event, "parameters", run_.parameters);
  const i64 first = integer_of(event, "first_step", -1);
  if (run_.first_step < 0 || (first >= 0 && first < run_.first_step)) run_.first_step = first;
}

void Reader::take_generation(const Json& event, double t_s) {
  const GenerationEvent taken{.t_s = t_s,
                              .generation = whole(event, "generation"),
                              .world = whole(event, "world"),
                              .step = integer_of(event, "step", 0),
                              .cause = text_of(event, "cause")};
  const auto [known, is_new] = generations_.insert({taken.generation, taken});
  if (!is_new && t_s < known->second.t_s) known->second = taken;
}

void Reader::take_step(const Json& event) {
  const auto [rank, life] = life_of(event);
  const Json* healing = event.find("healing");
  const StepEvent step{.rank = rank,
                       .life = life,
                       .generation = whole(event, "generation"),
                       .step = whole(event, "step"),
                       .begin_s = seconds(event, "begin_us"),
                       .end_s = seconds(event, "end_us"),
                       .healing = healing != nullptr && healing->is_flag() && healing->flag()};
  if (!(step.end_s >= step.begin_s)) throw ArgumentError("events: a step that ends before it begins");
  run_.steps.push_back(step);
  begin_s_ = std::min(begin_s_, step.begin_s);
  end_s_ = std::max(end_s_, step.end_s);
}

void Reader::take_commit(const Json& event, double t_s) {
  const CommitEvent commit{.t_s = t_s,
                           .step = whole(event, "step"),
                           .generation = whole(event, "generation"),
                           .world = integer_of(event, "world", 0),
                           .loss = number_of(event, "loss"),
                           .tokens_per_s = number_of(event, "tokens_per_s"),
                           .step_ms = number_of(event, "step_ms"),
                           .ft_ms = number_of(event, "ft_ms")};
  const auto [known, is_new] = commits_.insert({commit.step, commit});
  if (!is_new && t_s < known->second.t_s) known->second = commit;
}

/// Lives that ended neither by the agent's kill nor in good order.
void Reader::add_ends() {
  std::set<LifeKey> killed;
  for (const KillEvent& kill : run_.kills) killed.insert({kill.rank, kill.life});
  for (const auto& [key, life] : run_.lives) {
    if (std::isnan(life.exit_s) || life.left || killed.contains(key) || run_.goodput.contains(key)) continue;
    run_.kills.push_back({.t_s = life.exit_s, .rank = key.first, .life = key.second, .step = -1, .signal = 0, .cause = life.cause});
  }
}

RunEvents Reader::finish() {
  if (run_.events == 0) return std::move(run_);
  add_ends();
  for (const auto& [number, generation] : generations_) run_.generations.push_back(generation);
  for (const auto& [number, commit] : commits_) run_.commits.push_back(commit);
  for (CommitEvent& commit : run_.commits) shift(commit.t_s);
  for (GenerationEvent& generation : run_.generations) shift(generation.t_s);
  for (KillEvent& kill : run_.kills) shift(kill.t_s);
  for (KillEvent& signal : run_.signals) shift(signal.t_s);
  for (HealEvent& heal : run_.heals) shift(heal.t_s);
  for (StepEvent& step : run_.steps) shift(step.begin_s), shift(step.end_s);
  for (auto& [key, life] : run_.lives) shift(life.start_s), shift(life.exit_s);
  const auto by_time = [](const auto& a, const auto& b) { return a.t_s < b.t_s; };
  std::stable_sort(run_.commits.begin(), run_.commits.end(), by_time);
  std::stable_sort(run_.kills.begin(), run_.kills.end(), by_time);
  std::stable_sort(run_.heals.begin(), run_.heals.end(), by_time);
  std::stable_sort(run_.steps.begin(), run_.steps.end(), [](const StepEvent& a, const StepEvent& b) { return a.begin_s < b.begin_s; });
  run_.begin_unix_s = begin_s_;
  run_.end_s = end_s_ - begin_s_;
  return std::move(run_);
}

}  // namespace

RunEvents read_events(const std::string& path) {
  std::error_code ignored;
  Reader reader;
  if (std::filesystem::exists(path, ignored)) read_lines(path, [&](const Line& line) { reader.take(line); });
  return reader.finish();
}

}  // namespace resilin::tool
