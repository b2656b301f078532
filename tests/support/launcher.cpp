// tests/support/launcher.cpp -- this program as the launcher of a test.
#include "tests/support/launcher.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>

#include <fcntl.h>
#include <poll.h>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/launch/run.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist::launch {
namespace {

/// In the variable stand the seconds that it may take and its arguments, each with this sign behind it.
constexpr const char* kVariable = "RESILIN_TEST_LAUNCHER";
constexpr char kEnd = '\x1f';

Child start(const testing::TemporaryFolder& out, const std::vector<std::string>& arguments, const std::string& log, unsigned most_s) {
  std::string words = cat(most_s, kEnd);
  for (const std::string& argument : arguments) words += argument + kEnd;
  Program program;
  program.arguments = {std::filesystem::read_symlink("/proc/self/exe").string(), "--test-case=a launcher of a test", "--no-skip"};
  program.environment = {cat(kVariable, "=", words), "OUT=" + out.path(), "RESILIN_RECORDER_DIR=" + out.path() + "/recordings"};
  for (const std::string& variable : own_environment()) program.environment.push_back(variable);
  const Descriptor file(open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  program.out = program.err = file.get();
  return Child(program);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; std::getline(stream, word, kEnd);) words.push_back(word);
  return words;
}

}  // namespace

Launcher::Launcher(const testing::TemporaryFolder& out, const std::vector<std::string>& arguments, const std::string& name, unsigned most_s)
    : log_(out.path() + "/" + name), child_(start(out, arguments, log_, most_s)) {}

std::vector<std::string> own_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return variables;
}

int end_of(Child& child) {
  pollfd waited{child.descriptor(), POLLIN, 0};
  while (poll(&waited, 1, -1) < 0) continue;
  const std::optional<ProcessEnd> end = child.reap();
  REQUIRE(end.has_value());
  return end->kind == ProcessEnd::Kind::Signalled ? -end->signal : end->code;
}

TEST_CASE("a launcher of a test" * doctest::skip()) {
  const char* const text = std::getenv(kVariable);
  REQUIRE(text != nullptr);
  std::vector<std::string> words = words_of(text);
  REQUIRE_FALSE(words.empty());
  unsetenv(kVariable);
  alarm(static_cast<unsigned>(parse_integer(words[0])) * testing::kSlowness);
  words.erase(words.begin());
  int code = 99;
  try {
    code = run_job(words, own_environment());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    code = 98;
  }
  std::fflush(nullptr);
  _exit(code);
}

}  // namespace resilin::dist::launch
