// tests/base/cpu_count_test.cpp -- processors the process may use.
#include "resilin/base/cpu_count.h"

#include <filesystem>
#include <fstream>

#include <doctest/doctest.h>

#include "tests/support/temporary_folder.h"

namespace resilin {
namespace {

void write(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path) << text;
}

TEST_CASE("the smallest quota between a group of version 2 and the root holds") {
  const testing::TemporaryFolder folder;
  const std::string root = folder.path();
  CHECK_FALSE(cgroup_cpu_limit("0::/a/b\n", root).has_value());
  write(root + "/a/cpu.max", "250000 100000\n");
  CHECK(cgroup_cpu_limit("0::/a/b\n", root) == 3);
  write(root + "/a/b/cpu.max", "max 100000\n");
  CHECK(cgroup_cpu_limit("0::/a/b\n", root) == 3);
  write(root + "/a/b/cpu.max", "50000 100000\n");
  CHECK(cgroup_cpu_limit("0::/a/b\n", root) == 1);
  CHECK_FALSE(cgroup_cpu_limit("0::/\n", root).has_value());
}

TEST_CASE("the quota of version 1 is read from the cpu controller") {
  const testing::TemporaryFolder folder;
  const std::string root = folder.path();
  const std::string membership = "5:memory:/x\n3:cpu,cpuacct:/x\n";
  write(root + "/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  write(root + "/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  CHECK_FALSE(cgroup_cpu_limit(membership, root).has_value());
  write(root + "/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
  CHECK(cgroup_cpu_limit(membership, root) == 2);
}

TEST_CASE("damaged quota files are no quota") {
  const testing::TemporaryFolder folder;
  for (const char* text : {"", "max", "x y", "100000", "0 100000", "100000 0", "-5 3"}) {
    CAPTURE(text);
    write(folder.path() + "/cpu.max", text);
    CHECK_FALSE(cgroup_cpu_limit("0::/\nnonsense\n", folder.path()).has_value());
  }
}

TEST_CASE("OMP_NUM_THREADS gives its first number") {
  CHECK(parse_omp_num_threads("4") == 4);
  CHECK(parse_omp_num_threads("4,2") == 4);
  CHECK(parse_omp_num_threads("999999") == 1024);
  for (const char* text : {"", "0", "-2", "many", "4x"}) CHECK_FALSE(parse_omp_num_threads(text).has_value());
}

TEST_CASE("this machine has processors") {
  CHECK(affinity_cpu_count() >= 1);
  CHECK(usable_cpu_count() >= 1);
  CHECK(usable_cpu_count() <= affinity_cpu_count());
}

}  // namespace
}  // namespace resilin
