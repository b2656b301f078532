// tests/base/log_test.cpp -- messages are one line and respect the level.
#include "resilin/base/log.h"

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin {
namespace {

/// What `body` writes to stderr.
template <class Body>
std::string capture_stderr(Body&& body) {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/stderr";
  const int saved = dup(STDERR_FILENO);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  dup2(file, STDERR_FILENO);
  body();
  dup2(saved, STDERR_FILENO);
  close(saved);
  close(file);
  return read_file(path);
}

TEST_CASE("messages below the level are dropped and the others are one line each") {
  const config::ScopedConfig scope("log.level", "info");
  CHECK(log_enabled(LogLevel::Info));
  CHECK_FALSE(log_enabled(LogLevel::Debug));
  const std::string text = capture_stderr([] {
    log(LogLevel::Error, "first\nsecond");
    log(LogLevel::Debug, "hidden");
    log(LogLevel::Info, "third");
  });
  CHECK(text == "resilin error: first\\nsecond\nresilin info: third\n");
}

TEST_CASE("stages that are asked for are shown whole") {
  const config::ScopedConfig scope("show", "plan");
  CHECK(show_enabled("plan"));
  CHECK_FALSE(show_enabled("graph"));
  CHECK_THROWS_AS(show_enabled("plans"), ArgumentError);
  CHECK(capture_stderr([] { show("plan", "softmax", "a\nb"); }) == "== plan: softmax\na\nb\n");
}

}  // namespace
}  // namespace resilin
