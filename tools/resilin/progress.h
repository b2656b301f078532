// tools/resilin/progress.h -- where a training run is, shown as one line that changes or as plain lines.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "tools/resilin/train_config.h"

namespace resilin::tool {

struct RunProgress {
  i64 step = 0;   // how many are done
  i64 steps = 0;  // of the whole run; 0: not known
  std::optional<double> loss;
  double tokens_per_s = 0;
  i64 world = 0;
  i64 generation = 0;
  std::optional<double> left_s;  // until the last step
};

/// "step 120 of 400   loss 2.310   51000 tokens/s   world 4   generation 2   35 s left".
std::string progress_text(const RunProgress& progress);

/// The first `columns` characters, without bytes that a terminal would obey.
std::string fit_line(std::string_view text, std::size_t columns);

/// What is to be written so that a terminal shows messages above a line that changes. It keeps only what stands in that line.
class ProgressLine {
 public:
  /// The line now shows this text.
  std::string draw(std::string_view text, std::size_t columns);
  /// A line of its own above.
  std::string message(std::string_view text);
  /// Leaves the line as it is, for what follows.
  std::string finish();

 private:
  std::string shown_;
};

/// Shows a run on a descriptor, one write for each change. Line: at most 20 changes a second. Plain: a line a second at most, and every 50th step. Both:
/// the last step. Off: nothing. One thread uses it.
class ProgressPrinter {
 public:
  using Clock = std::chrono::steady_clock;

  /// Auto becomes Line when the descriptor is a terminal that can move its cursor, else Plain.
  ProgressPrinter(ProgressForm form, int descriptor);
  ~ProgressPrinter();
  ProgressPrinter(const ProgressPrinter&) = delete;
  ProgressPrinter& operator=(const ProgressPrinter&) = delete;

  void update(const RunProgress& progress, Clock::time_point now = Clock::now());
  /// A text of one line or several.
  void message(std::string_view text);
  void finish();
  ProgressForm form() const { return form_; }

 private:
  bool is_due(const RunProgress& progress, Clock::time_point now) const;

  ProgressForm form_;
  int descriptor_;
  ProgressLine line_;
  std::optional<Clock::time_point> last_;
  i64 last_step_ = -1;
};

}  // namespace resilin::tool
