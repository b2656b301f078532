// tests/dist/transport/ucx_test.cpp -- UCX by the suite that every transport passes, and what is its own: lanes, limits, refusals.
#include "resilin/dist/transport/ucx.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <dlfcn.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"
#include "resilin/dist/transport/address.h"
#include "resilin/dist/transport/plugin.h"

#include "tests/dist/transport/conformance.h"
#include "tests/dist/transport/mesh.h"

namespace resilin::dist {
namespace {

TransportMaker by_shared_memory() { return ucx_transport({}); }
TransportMaker by_tcp() { return ucx_transport({.shared_memory = false}); }

TEST_CASE("ucx by shared memory is a transport") { testing::run_conformance({.make = by_shared_memory()}); }

TEST_CASE("ucx by TCP is a transport") { testing::run_conformance({.make = by_tcp()}); }

TEST_CASE("ucx says what a connection is made of") {
  testing::Mesh shared(by_shared_memory(), 2);
  testing::Mesh tcp(by_tcp(), 2);
  CHECK(shared[0].lanes(1).find("posix") != std::string::npos);
  CHECK(tcp[0].lanes(1) == "tcp/lo");
  CHECK(tcp[0].lanes(0) == "tcp/lo");
}

TEST_CASE("lanes are read from what UCX prints") {
  CHECK(read_lanes("# lane[0]:  2:posix/memory.0 md[1] -> md[1]/posix/sysdev[255] am am_bw#0\n"
                   "# lane[1]: 10:tcp/eth0.0 md[2] -> md[2]/tcp/sysdev[255] rma_bw#0\n"
                   "# lane[2]: 10:tcp/eth0.1 md[2] -> md[2]/tcp\n") == "posix tcp/eth0");
  CHECK(read_lanes("# lane[0]: <none>\nlane[").find("tcp") == std::string::npos);
  CHECK(read_lanes("").empty());
}

TEST_CASE("ranks of one host without a lane of shared memory are an error that names the lanes") {
  const std::unique_ptr<Transport> shared = by_shared_memory()({});
  const std::unique_ptr<Transport> tcp = by_tcp()({});
  shared->join(0, 2);
  CHECK_THROWS_WITH_AS(shared->connect(1, tcp->address()),
                       "ucx: the connection to rank 1 has the lanes \"tcp/lo\"; posix must be among them, since both ranks are of one host",
                       StoreError);
}

TEST_CASE("ucx refuses addresses that are none") {
  const std::unique_ptr<Transport> transport = by_tcp()({});
  transport->join(0, 2);
  CHECK_THROWS_AS(transport->connect(1, ""), StoreError);
  CHECK_THROWS_AS(transport->connect(1, transport->address().substr(1)), StoreError);
  CHECK_THROWS_AS(transport->connect(1, pack_address({"fake 1", own_place(), "x"})), VersionError);
}

TEST_CASE("a missing or foreign plug-in, and a missing interface, are errors that name them") {
  CHECK_THROWS_WITH_AS(open_ucx_plugin("/nowhere/plugin.so"), doctest::Contains("/nowhere/plugin.so"), UnsupportedError);
  CHECK_THROWS_WITH_AS(open_ucx_plugin("libm.so.6"), doctest::Contains("another version"), UnsupportedError);
  CHECK_THROWS_WITH_AS(ucx_transport({.interface = "nowhere0"}),
                       "ucx: there is no network interface \"nowhere0\"; it must be one of this host's", UnsupportedError);
}

TEST_CASE("what killed processes have left in shared memory is removed, what is new is kept") {
  by_shared_memory();
  const std::filesystem::path old_one = ucx_folder() + "/test-old-" + std::to_string(getpid());
  const std::filesystem::path new_one = ucx_folder() + "/test-new-" + std::to_string(getpid());
  for (const std::filesystem::path& path : {old_one, new_one}) std::ofstream(path) << "segment";
  std::filesystem::last_write_time(old_one, std::filesystem::file_time_type::clock::now() - std::chrono::minutes(2));
  const std::unique_ptr<Transport> transport = by_shared_memory()({});
  CHECK_FALSE(std::filesystem::exists(old_one));
  CHECK(std::filesystem::remove(new_one));
  // Segments are made there, and have no name any more.
  const std::string maps = read_file("/proc/self/maps");
  CHECK(maps.find(ucx_folder() + "/ucx_shm") != std::string::npos);
  CHECK(maps.find("/dev/shm/ucx_shm") == std::string::npos);
}

TEST_CASE("ucx needs descriptors to spare, and says how many") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &before) == 0);
  const TransportMaker make = by_tcp();
  const std::unique_ptr<Transport> transport = make({});
  rlimit low = before;
  low.rlim_cur = 60;
  REQUIRE(setrlimit(RLIMIT_NOFILE, &low) == 0);
  CHECK_THROWS_WITH_AS(make({}), doctest::Contains("the limit is 60"), UnsupportedError);
  CHECK_THROWS_WITH_AS(transport->join(0, 2), doctest::Contains("68 more may be needed"), UnsupportedError);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &before) == 0);
  transport->join(0, 2);
}

/// The bytes at the address, as the file has them that it was mapped from.
std::string bytes_on_disk(const void* address, std::size_t count) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0;
    char path[512] = "";
    const unsigned long wanted = reinterpret_cast<unsigned long>(address);
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %*s %511s", &begin, &end, &offset, path) != 4 || wanted < begin || wanted >= end)
      continue;
    std::ifstream file(path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(wanted - begin + offset));
    std::string bytes(count, '\0');
    file.read(bytes.data(), static_cast<std::streamsize>(count));
    REQUIRE(file.good());
    return bytes;
  }
  FAIL("no file is mapped there");
  return "";
}

TEST_CASE("ucx leaves the functions of the C library as they were") {
  const testing::Mesh mesh(by_shared_memory(), 2);
  void* const library = dlopen("libc.so.6", RTLD_NOW | RTLD_NOLOAD);
  REQUIRE(library != nullptr);
  for (const std::string name : {"mmap", "munmap", "mremap", "madvise", "brk", "sbrk", "shmat", "shmdt"}) {
    CAPTURE(name);
    const void* const function = dlsym(library, name.c_str());
    REQUIRE(function != nullptr);
    const std::string now(static_cast<const char*>(function), 16);
    CHECK(now == bytes_on_disk(function, now.size()));
  }
  dlclose(library);
}

TEST_CASE("ucx leaves signals and the environment as they were") {
  setenv("UCX_HANDLE_ERRORS", "bt", 1);
  by_tcp();
  CHECK(std::string(getenv("UCX_HANDLE_ERRORS")) == "bt");
  unsetenv("UCX_HANDLE_ERRORS");
  CHECK(ucx_plugin().catches_signals() == 0);
}

}  // namespace
}  // namespace resilin::dist
