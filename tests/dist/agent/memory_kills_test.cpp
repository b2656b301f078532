// tests/dist/agent/memory_kills_test.cpp -- the kernel's counters of kills for want of memory, of both versions of control groups.
#include "resilin/dist/agent/memory_kills.h"

#include <string>

#include <doctest/doctest.h>

#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::dist {
namespace {

void put(const std::string& folder, const std::string& name, const std::string& text) {
  ensure_directory(folder);
  atomic_write(folder + "/" + name, text);
}

TEST_CASE("kills are counted where the groups of the process say") {
  const testing::TemporaryFolder root;
  put(root.path() + "/memory/job", "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n");
  put(root.path() + "/job", "memory.events", "low 0\nhigh 9\nmax 7\noom 2\noom_kill 1\n");
  CHECK(memory_kills("4:memory:/job\n1:cpu:/\n", root.path()) == 3);
  CHECK(memory_kills("0::/job\n", root.path()) == 1);
  CHECK(memory_kills("5:cpu,memory:/elsewhere\n0::/\n", root.path()) == 0);
  CHECK(memory_kills("", root.path()) == 0);
  CHECK(memory_kills("damaged\n:", root.path()) == 0);
}

}  // namespace
}  // namespace resilin::dist
