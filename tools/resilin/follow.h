// tools/resilin/follow.h -- follows the events of a run: what they say so far, in words and as progress.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "resilin/base/event_log.h"

#include "tools/resilin/progress.h"

namespace resilin::tool {

/// What the events of a job say so far. Events of several processes may come in any order, and some never.
class RunStory {
 public:
  struct News {
    std::vector<std::string> messages;  // worth a line of their own
    bool progressed = false;
  };
  News take(const Event& event);

  const RunProgress& progress() const { return progress_; }
  /// Kills on purpose and other deaths, and generations after the first.
  i64 deaths() const { return deaths_; }
  i64 generations() const { return static_cast<i64>(generations_.size()); }

 private:
  void take_run(const Event& event, News& news);
  void take_plan(const Event& event, News& news);
  void take_start(const Event& event, News& news);
  void take_kill(const Event& event, News& news);
  void take_exit(const Event& event, News& news);
  void take_generation(const Event& event, News& news);
  void take_doubt(const Event& event, News& news);
  void take_heal(const Event& event, News& news);
  void take_commit(const Event& event, News& news);
  void tell_recovery(const Event& commit, News& news);
  void take_held_out(const Event& event, News& news);
  void take_sample(const Event& event, News& news);

  using Life = std::pair<i64, i64>;  // rank and life

  RunProgress progress_;
  bool introduced_ = false;
  i64 deaths_ = 0;
  std::set<i64> generations_;
  /// Something that a later commit makes good.
  struct Since {
    i64 t_us = 0;
    i64 rank = 0;
    i64 generation = 0;  // of the commits before it
  };
  std::deque<Since> deaths_open_, returns_open_;    // kills that no generation has answered, ranks that are not among all others yet
  i64 full_world_ = 0;                              // of the first generation
  std::set<Life> killed_;                           // on purpose: their end is no news
  std::set<std::pair<i64, i64>> doubts_;            // generation and step
  std::deque<std::pair<i64, i64>> recent_commits_;  // time and steps done
};

/// The events that are added to a file, which need not be there yet. A line counts when its end is there.
class EventTail {
 public:
  explicit EventTail(std::string path) : path_(std::move(path)) {}
  ~EventTail();
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

  /// Those since the last call, 4 MiB of lines at most; `is_behind` says whether there were more.
  std::vector<Event> read();
  bool is_behind() const { return behind_; }

 private:
  void take_bytes(std::string_view bytes, std::vector<Event>& events);

  std::string path_;
  int file_ = -1;
  std::string part_;       // of a line that is not whole
  bool too_long_ = false;  // the rest of this line is skipped
  bool behind_ = false;
};

/// Shows what events say: messages as lines, progress as the printer does.
class RunView {
 public:
  RunView(ProgressForm form, int descriptor) : printer_(form, descriptor) {}
  void show(const Event& event);
  void finish() { printer_.finish(); }
  const RunStory& story() const { return story_; }

 private:
  RunStory story_;
  ProgressPrinter printer_;
};

}  // namespace resilin::tool
