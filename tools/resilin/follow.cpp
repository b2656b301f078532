// tools/resilin/follow.cpp -- events become messages and progress; a file's new lines become events.
#include "tools/resilin/follow.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <optional>
#include <string_view>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

namespace resilin::tool {
namespace {

constexpr std::size_t kRememberedCommits = 50;  // for the time that is left
constexpr std::size_t kLongestLine = 1 << 20;
constexpr int kReadsAtOnce = 64;

std::optional<i64> whole(const Event& event, std::string_view key) {
  const Json* value = event.find(key);
  if (value == nullptr || !value->is_integer()) return std::nullopt;
  return value->integer();
}

std::optional<double> real(const Event& event, std::string_view key) {
  const Json* value = event.find(key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  return value->number();
}

std::string words(const Event& event, std::string_view key) {
  const Json* value = event.find(key);
  return value == nullptr || !value->is_text() ? "" : value->text();
}

std::string fixed(double value, int digits) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

std::string size_text(i64 bytes) {
  if (bytes >= 1'000'000) return cat(fixed(static_cast<double>(bytes) * 1e-6, 1), " MB");
  return cat(fixed(static_cast<double>(bytes) * 1e-3, 1), " kB");
}

/// "step 50: " when the event tells it.
std::string at_step(const Event& event) {
  const std::optional<i64> step = whole(event, "step");
  return step ? cat("step ", *step, ": ") : "";
}

std::string members_text(const Event& event) {
  const Json* members = event.find("members");
  if (members == nullptr || !members->is_array()) return "";
  std::string text;
  for (const Json& member : members->array()) {
    if (member.is_integer()) text += cat(text.empty() ? " (" : ", ", member.integer());
  }
  return text.empty() ? "" : text + ")";
}

}  // namespace

RunStory::News RunStory::take(const Event& event) {
  struct Chapter {
    std::string_view what;
    void (RunStory::*take)(const Event&, News&);
  };
  static constexpr std::array kChapters = {
      Chapter{"run", &RunStory::take_run},        Chapter{"plan", &RunStory::take_plan},
      Chapter{"start", &RunStory::take_start},    Chapter{"kill", &RunStory::take_kill},
      Chapter{"exit", &RunStory::take_exit},      Chapter{"generation", &RunStory::take_generation},
      Chapter{"in_doubt", &RunStory::take_doubt}, Chapter{"heal", &RunStory::take_heal},
      Chapter{"commit", &RunStory::take_commit},  Chapter{"held_out", &RunStory::take_held_out},
      Chapter{"sample", &RunStory::take_sample},
  };
  News news;
  for (const Chapter& chapter : kChapters) {
    if (chapter.what == event.what) (this->*chapter.take)(event, news);
  }
  return news;
}

void RunStory::take_run(const Event& event, News& news) {
  const std::optional<i64> steps = whole(event, "steps"), batch = whole(event, "batch"), parameters = whole(event, "parameters");
  if (std::exchange(introduced_, true)) return;  // a new life knows only what was planned in the beginning
  if (steps) progress_.steps = *steps;
  const i64 first = whole(event, "first_step").value_or(0);
  progress_.step = first;
  std::string text = "the run";
  if (parameters) text = cat("a model of ", *parameters, " parameters");
  if (steps) text += cat(": ", *steps, " steps");
  if (batch) text += cat(" of ", *batch, " samples");
  if (first > 0) text += cat(", from step ", first, " on");
  news.messages.push_back(text);
}

/// Fewer steps than were planned fit into the budget.
void RunStory::take_plan(const Event& event, News& news) {
  const std::optional<i64> steps = whole(event, "steps");
  if (!steps || *steps == progress_.steps) return;
  progress_.steps = *steps;
  news.messages.push_back(cat(at_step(event), *steps, " steps fit into the time"));
}

void RunStory::take_start(const Event& event, News& news) {
  if (event.life == 0) return;
  news.messages.push_back(cat("rank ", event.rank, " is started again"));
  returns_open_.push_back({.t_us = event.t_us, .rank = event.rank});
}

void RunStory::take_kill(const Event& event, News& news) {
  const i64 signal = whole(event, "signal").value_or(0);
  std::string what = cat("is sent signal ", signal);
  if (signal == SIGKILL) what = "is killed (SIGKILL)";
  if (signal == SIGSTOP) what = "is stopped (SIGSTOP)";
  if (signal == SIGCONT) what = "may go on (SIGCONT)";
  news.messages.push_back(cat(at_step(event), "rank ", event.rank, " ", what));
  if (signal != SIGKILL) return;
  killed_.insert({event.rank, event.life});
  ++deaths_;
  deaths_open_.push_back({.t_us = event.t_us, .rank = event.rank, .generation = progress_.generation});
}

void RunStory::take_exit(const Event& event, News& news) {
  const std::string cause = words(event, "cause");
  if (cause == "exited with code 0" || killed_.contains({event.rank, event.life})) return;
  ++deaths_;
  news.messages.push_back(cat("rank ", event.rank, " ", cause.empty() ? "is gone" : cause));
}

/// Every member tells it; of its first member the time is taken.
void RunStory::take_generation(const Event& event, News& news) {
  const std::optional<i64> generation = whole(event, "generation"), world = whole(event, "world");
  if (!generation || whole(event, "group_rank") != 0 || !generations_.insert(*generation).second) return;
  const std::string cause = words(event, "cause");
  if (*generation >= progress_.generation) {
    progress_.generation = *generation;
    if (world) progress_.world = *world;
    news.progressed = true;
  }
  std::string text = cat(at_step(event), "generation ", *generation);
  if (world) text += cat(": ", *world, *world == 1 ? " rank" : " ranks", members_text(event));
  if (cause == "first" && world) full_world_ = *world;
  if (cause == "join") text += ", one comes back";
  news.messages.push_back(text);
}

void RunStory::take_doubt(const Event& event, News& news) {
  const std::optional<i64> generation = whole(event, "generation"), step = whole(event, "step");
  if (!generation || !step || !doubts_.insert({*generation, *step}).second) return;
  const bool yes = words(event, "outcome") == "yes";
  news.messages.push_back(cat("step ", *step, ": the vote was cut off; ", yes ? "it counts" : "it is taken again"));
}

void RunStory::take_heal(const Event& event, News& news) {
  std::string text = cat(at_step(event), "rank ", event.rank, " has the state again");
  if (const std::optional<i64> bytes = whole(event, "bytes")) text += cat(": ", size_text(*bytes));
  if (const std::optional<double> ms = real(event, "ms")) text += cat(" in ", fixed(*ms, 1), " ms");
  news.messages.push_back(text);
}

/// How long it took until a step was committed without the dead, and with all that had come back.
void RunStory::tell_recovery(const Event& commit, News& news) {
  const auto ms_since = [&](const Since& since) { return fixed(static_cast<double>(commit.t_us - since.t_us) * 1e-3, 0); };
  const i64 generation = whole(commit, "generation").value_or(0), world = whole(commit, "world").value_or(0);
  while (!deaths_open_.empty() && generation > deaths_open_.front().generation && commit.t_us >= deaths_open_.front().t_us) {
    news.messages.push_back(cat(at_step(commit), "committed by ", world, " ranks, ", ms_since(deaths_open_.front()), " ms after rank ",
                                deaths_open_.front().rank, " was killed"));
    deaths_open_.pop_front();
  }
  while (!returns_open_.empty() && full_world_ > 0 && world >= full_world_ && commit.t_us >= returns_open_.front().t_us) {
    news.messages.push_back(cat(at_step(commit), "committed by all ", world, " ranks, ", ms_since(returns_open_.front()), " ms after rank ",
                                returns_open_.front().rank, " was started again"));
    returns_open_.pop_front();
  }
}

/// Of two processes that tell of one step, the one who was first member at the time and its successor, the second is no news.
void RunStory::take_commit(const Event& event, News& news) {
  const std::optional<i64> step = whole(event, "step");
  if (!step || *step < 0 || *step == std::numeric_limits<i64>::max()) return;
  const i64 done = *step + 1;
  if (done <= progress_.step && !recent_commits_.empty()) return;
  tell_recovery(event, news);
  progress_.step = done;
  progress_.loss = real(event, "loss");
  progress_.tokens_per_s = real(event, "tokens_per_s").value_or(0);
  progress_.world = whole(event, "world").value_or(progress_.world);
  progress_.generation = whole(event, "generation").value_or(progress_.generation);
  recent_commits_.emplace_back(event.t_us, done);
  if (recent_commits_.size() > kRememberedCommits) recent_commits_.pop_front();
  const auto [first_us, first_step] = recent_commits_.front();
  progress_.left_s.reset();
  if (done > first_step && event.t_us > first_us) {
    const double each_s = static_cast<double>(event.t_us - first_us) * 1e-6 / static_cast<double>(done - first_step);
    progress_.left_s = each_s * static_cast<double>(progress_.steps - done);
  }
  news.progressed = true;
}

void RunStory::take_held_out(const Event& event, News& news) {
  const std::optional<double> loss = real(event, "loss"), entropy = real(event, "bigram_entropy");
  std::string text = cat(at_step(event), "held-out loss ", loss ? fixed(*loss, 3) : "not finite", " nats a byte");
  if (entropy) text += cat("; knowing only the byte before leaves ", fixed(*entropy, 3));
  news.messages.push_back(text);
}

void RunStory::take_sample(const Event& event, News& news) { news.messages.push_back(words(event, "text")); }

EventTail::~EventTail() {
  if (file_ >= 0) close(file_);
}

std::vector<Event> EventTail::read() {
  std::vector<Event> events;
  behind_ = false;
  if (file_ < 0) file_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) return events;  // nobody has written yet
  std::array<char, 65536> buffer;
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const ssize_t count = ::read(file_, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return events;
    take_bytes({buffer.data(), static_cast<std::size_t>(count)}, events);
  }
  behind_ = true;
  return events;
}

void EventTail::take_bytes(std::string_view bytes, std::vector<Event>& events) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    if (!too_long_) part_ += bytes.substr(0, end);
    if (part_.size() > kLongestLine) {
      too_long_ = true;
      part_.clear();
    }
    if (end == std::string_view::npos) return;
    if (!too_long_) {
      if (std::optional<Event> event = parse_event(part_)) events.push_back(std::move(*event));
    }
    part_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
}

void RunView::show(const Event& event) {
  const RunStory::News news = story_.take(event);
  for (const std::string& message : news.messages) printer_.message(message);
  if (news.progressed) printer_.update(story_.progress());
}

}  // namespace resilin::tool
