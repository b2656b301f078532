// tests/tool/progress_test.cpp -- lines of progress on terminals and elsewhere.
#include "tools/resilin/progress.h"

#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::tool {
namespace {

using std::chrono::milliseconds;

TEST_CASE("the text of progress") {
  RunProgress progress;
  CHECK(progress_text(progress) == "step 0");
  progress = {120, 400, 2.3104, 51234.4, 4, 2, 35.2};
  CHECK(progress_text(progress) == "step 120 of 400   loss 2.310   51234 tokens/s   world 4   generation 2   36 s left");
  progress.left_s = 100.0;
  CHECK(progress_text(progress).ends_with("   1:40 min left"));
  progress.left_s = 3661.0;
  CHECK(progress_text(progress).ends_with("   1:01 h left"));
  progress.left_s = 1e300;
  CHECK(progress_text(progress).ends_with("   forever left"));
  progress.step = 400;
  CHECK(progress_text(progress).ends_with("generation 2"));
  progress.loss.reset();
  CHECK(progress_text(progress).find("loss") == std::string::npos);
}

TEST_CASE("a line is cut at characters and obeys nothing in the text") {
  CHECK(fit_line("abcdef", 4) == "abcd");
  CHECK(fit_line("abc", 4) == "abc");
  CHECK(fit_line("a\x1b[2J\nb\x7f", 80) == "a?[2J?b?");
  CHECK(fit_line("\xc3\xa4\xc3\xb6\xc3\xbc", 2) == "\xc3\xa4\xc3\xb6");
  CHECK(fit_line("abc", 0).empty());
}

/// What a terminal of `columns` shows: lines, the cursor's last.
std::vector<std::string> screen(const std::string& written, std::size_t columns) {
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  for (const char c : written) {
    if (c == '\r') {
      at = 0;
    } else if (c == '\n') {
      lines.emplace_back();
      at = 0;
    } else {
      if (at == columns) {  // it wraps
        lines.emplace_back();
        at = 0;
      }
      if (lines.back().size() <= at) lines.back().resize(at + 1, ' ');
      lines.back()[at++] = c;
    }
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return lines;
}

TEST_CASE("a line changes in place, and messages stand above it") {
  ProgressLine line;
  std::string written = line.draw("step 100 and more", 20);
  CHECK(screen(written, 21) == std::vector<std::string>{"step 100 and more"});
  written += line.draw("step 9", 20);
  CHECK(screen(written, 21) == std::vector<std::string>{"step 9"});
  written += line.message("rank 2 is killed, which is told in a long line\nand another");
  CHECK(screen(written, 80) == std::vector<std::string>{"rank 2 is killed, which is told in a long line", "and another", "step 9"});
  written += line.draw(std::string(50, 'x'), 20);
  CHECK(screen(written, 80).back() == std::string(20, 'x'));
  written += line.draw("end", 10);  // the terminal got narrower: no more than its width is written
  CHECK(line.draw("end", 10) == "\rend");
  written += line.finish();
  CHECK(written.ends_with("\n"));
  CHECK(line.finish().empty());
  CHECK(line.message("last") == "last\n");
}

struct File {
  File() : descriptor(open(path.c_str(), O_WRONLY | O_CREAT, 0600)) {}
  ~File() { close(descriptor); }
  std::string text() const { return read_file(path); }
  testing::TemporaryFolder folder;
  std::string path = folder.path() + "/shown";
  int descriptor;
};

RunProgress at(i64 step) {
  RunProgress progress;
  progress.step = step;
  progress.steps = 120;
  return progress;
}

std::string lines_of_steps(const std::vector<i64>& steps) {
  std::string text;
  for (const i64 step : steps) text += cat("step ", step, " of 120\n");
  return text;
}

TEST_CASE("plain lines come once a second, at every 50th step and at the last") {
  File file;
  ProgressPrinter printer(ProgressForm::Auto, file.descriptor);
  CHECK(printer.form() == ProgressForm::Plain);
  const ProgressPrinter::Clock::time_point start{};
  for (i64 step = 1; step <= 120; ++step) printer.update(at(step), start + milliseconds(30) * step);
  printer.finish();
  // 1 is the first; 35 comes 1020 ms later; 50 and 100 by their number; 84 a second after 50.
  CHECK(file.text() == lines_of_steps({1, 35, 50, 84, 100, 120}));
}

TEST_CASE("nothing that stands still is printed again, and a jump over a 50th step is one line") {
  File file;
  ProgressPrinter printer(ProgressForm::Plain, file.descriptor);
  const ProgressPrinter::Clock::time_point start{};
  printer.update(at(48), start);
  printer.update(at(51), start + milliseconds(1));
  printer.update(at(51), start + milliseconds(5000));
  printer.message("killed");
  printer.update(at(120), start + milliseconds(5001));
  printer.update(at(120), start + milliseconds(9000));
  CHECK(file.text() == "step 48 of 120\nstep 51 of 120\nkilled\nstep 120 of 120\n");
}

TEST_CASE("off shows nothing") {
  File file;
  {
    ProgressPrinter printer(ProgressForm::Off, file.descriptor);
    printer.update(at(1));
    printer.message("killed");
  }
  CHECK(file.text().empty());
}

TEST_CASE("on a terminal the line keeps to its width, whatever that becomes, and has at most twenty changes a second") {
  const int master = posix_openpt(O_RDWR | O_NOCTTY);
  REQUIRE(master >= 0);
  REQUIRE(grantpt(master) == 0);
  REQUIRE(unlockpt(master) == 0);
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY);
  REQUIRE(terminal >= 0);
  const winsize narrow{24, 12, 0, 0}, wide{24, 40, 0, 0};
  setenv("TERM", "xterm", 1);
  const auto shown = [master] {
    std::string text(4096, '\0');
    const ssize_t count = read(master, text.data(), text.size());
    text.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return text;
  };
  {
    ProgressPrinter printer(ProgressForm::Auto, terminal);
    REQUIRE(printer.form() == ProgressForm::Line);
    const ProgressPrinter::Clock::time_point start{};
    REQUIRE(ioctl(terminal, TIOCSWINSZ, &narrow) == 0);
    printer.update(at(1), start);
    CHECK(shown() == "\rstep 1 of 1");
    printer.update(at(2), start + milliseconds(49));  // too early
    REQUIRE(ioctl(terminal, TIOCSWINSZ, &wide) == 0);
    printer.update(at(3), start + milliseconds(50));
    CHECK(shown() == "\rstep 3 of 120");
    printer.update(at(120), start + milliseconds(51));  // the last one is never left out
    CHECK(shown() == "\rstep 120 of 120");
    printer.message("done");
    CHECK(shown() == "\r               \rdone\r\nstep 120 of 120");
  }
  CHECK(shown() == "\r\n");
  setenv("TERM", "dumb", 1);
  CHECK(ProgressPrinter(ProgressForm::Auto, terminal).form() == ProgressForm::Plain);
  close(terminal);
  close(master);
}

}  // namespace
}  // namespace resilin::tool
