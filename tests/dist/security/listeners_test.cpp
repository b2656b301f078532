// tests/dist/security/listeners_test.cpp -- where the processes of a job listen, as the kernel tells: on the loopback address and nowhere else.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/text.h"
#include "resilin/dist/launch/run_folder.h"
#include "resilin/dist/os/socket.h"

#include "tests/dist/group/summing.h"
#include "tests/support/launcher.h"

namespace resilin::dist {
namespace {

/// A socket that others can reach: its table, and its address as the table has it.
struct Reachable {
  std::string table, address;
  pid_t process = 0;
};

std::set<std::string> sockets_of(pid_t process) {
  std::set<std::string> inodes;
  std::error_code gone;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(cat("/proc/", process, "/fd"), gone)) {
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (target.starts_with("socket:[")) inodes.insert(target.substr(8, target.size() - 9));
  }
  return inodes;
}

/// Lines of a table of /proc/PID/net without its heading, as words.
std::vector<std::vector<std::string>> rows_of(pid_t process, const std::string& table) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<std::string> lines = launch::lines_of(cat("/proc/", process, "/net/", table));
  for (std::size_t i = 1; i < lines.size(); ++i) {
    std::istringstream text(lines[i]);
    std::vector<std::string> words;
    for (std::string word; text >> word;) words.push_back(word);
    rows.push_back(std::move(words));
  }
  return rows;
}

/// TCP sockets that listen, UDP sockets that have a port, Unix sockets that listen.
std::vector<Reachable> reachable(pid_t process) {
  const std::set<std::string> own = sockets_of(process);
  std::vector<Reachable> found;
  for (const std::string table : {"tcp", "tcp6", "udp", "udp6"}) {
    const bool is_tcp = table.starts_with("tcp");
    for (const std::vector<std::string>& row : rows_of(process, table)) {
      const bool is_reachable = row.size() > 9 && own.contains(row[9]) && (!is_tcp || row[3] == "0A");
      if (is_reachable) found.push_back({table, row[1], process});
    }
  }
  for (const std::vector<std::string>& row : rows_of(process, "unix")) {
    const bool is_reachable = row.size() > 6 && own.contains(row[6]) && (std::stoul(row[3], nullptr, 16) & 0x10000) != 0;
    if (is_reachable) found.push_back({"unix", row.size() > 7 ? row[7] : "", process});
  }
  return found;
}

/// The kernel writes an address of IPv4 as one number of the machine's byte order.
bool is_loopback(const Reachable& socket) { return socket.table == "tcp" && socket.address.starts_with("0100007F:"); }

bool is_of_this_user(const Reachable& socket) { return socket.table == "unix" && socket.address.starts_with(run_base() + "/"); }

pid_t parent_of(pid_t process) {
  const std::string text = launch::read_or_empty(cat("/proc/", process, "/stat"));
  std::istringstream fields(text.substr(std::min(text.size(), text.rfind(')') + 1)));
  std::string state;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

TEST_CASE("the tables show a socket that listens, and where") {
  const Listener listener = listen_on({Address::Kind::Tcp, "127.0.0.1", 0});
  const std::vector<Reachable> found = reachable(getpid());
  const auto is_ours = [&](const Reachable& socket) {
    std::ostringstream port;
    port << ":" << std::uppercase << std::hex << listener.address.port;
    return is_loopback(socket) && socket.address.find(port.str()) != std::string::npos;
  };
  CHECK(std::ranges::count_if(found, is_ours) == 1);
}

TEST_CASE("a job of one host listens on the loopback address and in this user's folder, and nowhere else") {
  const testing::TemporaryFolder out;
  std::vector<std::string> flags = launch::with_test_case({"--standalone", "--nproc-per-node=2"}, "sum", summing::kTestCase);
  flags.insert(flags.begin() + 3, "RESILIN_RECORDER_DIR=" + out.path());
  launch::Launcher launcher(out, flags);
  const std::vector<summing::Note> ranks = summing::members_in(out.path(), 2, 0);
  CAPTURE(launcher.log());
  REQUIRE(ranks.size() == 2);
  std::vector<Reachable> all;
  for (const pid_t process : {ranks[0].process, ranks[1].process, parent_of(ranks[0].process)}) {
    const std::vector<Reachable> found = reachable(process);
    all.insert(all.end(), found.begin(), found.end());
  }
  for (const Reachable& socket : all) {
    CHECK_MESSAGE((is_loopback(socket) || is_of_this_user(socket)), "process ", socket.process, " listens on ", socket.table, " ",
                  socket.address);
  }
  CHECK(std::ranges::count_if(all, is_loopback) >= 2);      // of each rank the transport's
  CHECK(std::ranges::count_if(all, is_of_this_user) == 2);  // the store and the agent
  summing::tell_to_stop(out.path());
  CHECK(launcher.wait() == 0);
}

}  // namespace
}  // namespace resilin::dist
