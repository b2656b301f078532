// tools/resilin/progress.cpp -- lines of progress: their text, their place on a terminal, and when they are due.
#include "tools/resilin/progress.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <sys/ioctl.h>
#include <unistd.h>

namespace resilin::tool {
namespace {

constexpr std::size_t kColumns = 80;  // of a terminal that does not tell
constexpr std::chrono::milliseconds kRedraw{50};
constexpr std::chrono::seconds kPlainInterval{1};
constexpr i64 kPlainSteps = 50;

template <class... Values>
std::string printed(const char* format, Values... values) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, format, values...);
  return buffer;
}

std::string time_text(double seconds) {
  if (!(seconds < 1e9)) return "forever";
  const i64 whole = static_cast<i64>(std::ceil(seconds));
  if (whole < 100) return cat(whole, " s");
  if (whole < 3600) return cat(whole / 60, printed(":%02d min", static_cast<int>(whole % 60)));
  return cat(whole / 3600, printed(":%02d h", static_cast<int>(whole % 3600 / 60)));
}

std::size_t columns_of(int descriptor) {
  winsize size{};
  const bool told = ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
  return told ? size.ws_col - std::size_t{1} : kColumns - 1;  // the last column would wrap
}

ProgressForm resolve(ProgressForm form, int descriptor) {
  if (form != ProgressForm::Auto) return form;
  const char* const terminal = std::getenv("TERM");
  const bool moves = isatty(descriptor) != 0 && terminal != nullptr && std::string_view(terminal) != "dumb";
  return moves ? ProgressForm::Line : ProgressForm::Plain;
}

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // nobody looks
    text.remove_prefix(static_cast<std::size_t>(count));
  }
}

/// Calls `line` for each line of a text.
template <class Body>
void for_each_line(std::string_view text, Body&& line) {
  while (true) {
    const std::size_t end = text.find('\n');
    line(text.substr(0, end));
    if (end == std::string_view::npos || end + 1 == text.size()) return;
    text.remove_prefix(end + 1);
  }
}

bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

}  // namespace

std::string progress_text(const RunProgress& progress) {
  std::string text = cat("step ", progress.step);
  if (progress.steps > 0) text += cat(" of ", progress.steps);
  if (progress.loss) text += printed("   loss %.3f", *progress.loss);
  if (progress.tokens_per_s > 0) text += printed("   %.0f tokens/s", progress.tokens_per_s);
  if (progress.world > 0) text += cat("   world ", progress.world, "   generation ", progress.generation);
  if (progress.left_s && progress.step < progress.steps) text += cat("   ", time_text(*progress.left_s), " left");
  return text;
}

std::string fit_line(std::string_view text, std::size_t columns) {
  std::string line;
  std::size_t used = 0;
  for (const char c : text) {
    if (!continues_character(c) && ++used > columns) break;
    const unsigned byte = static_cast<unsigned char>(c);
    line += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  return line;
}

std::string ProgressLine::draw(std::string_view text, std::size_t columns) {
  std::string line = fit_line(text, columns);
  const std::size_t rest = shown_.size() > line.size() ? shown_.size() - line.size() : 0;
  // What is left of a longer line is overwritten; a line that filled the terminal before it got narrower is cut all the same.
  const std::string blank(std::min(rest, columns > line.size() ? columns - line.size() : 0), ' ');
  shown_ = std::move(line);
  return cat("\r", shown_, blank);
}

std::string ProgressLine::message(std::string_view text) {
  std::string out;
  if (!shown_.empty()) out = cat("\r", std::string(shown_.size(), ' '), "\r");
  for_each_line(text, [&](std::string_view line) { out += fit_line(line, std::string_view::npos) + "\n"; });
  return out + shown_;
}

std::string ProgressLine::finish() {
  if (shown_.empty()) return "";
  shown_.clear();
  return "\n";
}

ProgressPrinter::ProgressPrinter(ProgressForm form, int descriptor) : form_(resolve(form, descriptor)), descriptor_(descriptor) {}

ProgressPrinter::~ProgressPrinter() { finish(); }

bool ProgressPrinter::is_due(const RunProgress& progress, Clock::time_point now) const {
  if (!last_) return true;
  const bool moved = progress.step != last_step_;
  if (moved && progress.steps > 0 && progress.step >= progress.steps) return true;
  if (form_ == ProgressForm::Line) return now - *last_ >= kRedraw;
  return moved && (now - *last_ >= kPlainInterval || progress.step / kPlainSteps != last_step_ / kPlainSteps);
}

void ProgressPrinter::update(const RunProgress& progress, Clock::time_point now) {
  if (form_ == ProgressForm::Off || !is_due(progress, now)) return;
  last_ = now;
  last_step_ = progress.step;
  const std::string text = progress_text(progress);
  write_all(descriptor_, form_ == ProgressForm::Line ? line_.draw(text, columns_of(descriptor_)) : text + "\n");
}

void ProgressPrinter::message(std::string_view text) {
  if (form_ != ProgressForm::Off) write_all(descriptor_, line_.message(text));
}

void ProgressPrinter::finish() { write_all(descriptor_, line_.finish()); }

}  // namespace resilin::tool
