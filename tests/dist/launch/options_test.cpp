// tests/dist/launch/options_test.cpp -- the flags of `resilin run`.
#include "resilin/dist/launch/options.h"

#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

RunOptions parse(const std::vector<std::string>& arguments, const std::map<std::string, std::string>& variables = {}) {
  return parse_run_options(arguments, [&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

template <class E>
std::string message_of(const std::vector<std::string>& arguments) {
  try {
    parse(arguments);
  } catch (const E& error) {
    return error.what();
  }
  return "no such error";
}

TEST_CASE("torchrun's flags are taken in all their spellings") {
  const RunOptions run = parse({"--nnodes=2:4",
                                "--nproc_per_node",
                                "8",
                                "--rdzv-backend",
                                "c10d",
                                "--rdzv-endpoint=host:1234",
                                "--rdzv_id=job",
                                "--max-restarts",
                                "3",
                                "-r",
                                "0:1,1:3",
                                "--tee=2",
                                "--log-dir",
                                "logs",
                                "--rdzv-conf",
                                "join_timeout=5,last_call_timeout=0.5",
                                "--no-python",
                                "train",
                                "--nnodes",
                                "9"});
  CHECK(run.min_nodes == 2);
  CHECK(run.max_nodes == 4);
  CHECK(run.ranks_per_node == 8);
  CHECK(run.rdzv_endpoint == "host:1234");
  CHECK(run.rdzv_id == "job");
  CHECK(run.max_restarts == 3);
  CHECK(run.join_timeout == std::chrono::seconds(5));
  CHECK(run.last_call_timeout == std::chrono::milliseconds(500));
  CHECK(run.redirects.of(0).out);
  CHECK_FALSE(run.redirects.of(0).err);
  CHECK(run.redirects.of(1).err);
  CHECK_FALSE(run.redirects.of(2).out);
  CHECK(run.tee.of(5).err);
  CHECK(run.program == std::vector<std::string>{"train", "--nnodes", "9"});
}

TEST_CASE("a log folder alone keeps both streams and shows them") {
  const RunOptions run = parse({"--log-dir", "logs", "train"});
  CHECK(run.tee.of(0).out);
  CHECK(run.tee.of(0).err);
}

TEST_CASE("variables PET_NAME stand in for flags that are not given") {
  const RunOptions run = parse({"--nproc-per-node=3", "train"},
                               {{"PET_NPROC_PER_NODE", "7"}, {"PET_MAX_RESTARTS", "5"}, {"PET_STANDALONE", "1"}, {"PET_NO_PYTHON", "0"}});
  CHECK(run.ranks_per_node == 3);
  CHECK(run.max_restarts == 5);
  CHECK(run.standalone);
}

TEST_CASE("an unknown flag is an error with the nearest one") {
  CHECK(message_of<ArgumentError>({"--nproc-per-nod", "2", "x"}) == "run: unknown flag: --nproc-per-nod; did you mean --nproc-per-node?");
  CHECK(message_of<ArgumentError>({"--max-restart=2", "x"}) == "run: unknown flag: --max-restart; did you mean --max-restarts?");
  CHECK(message_of<ArgumentError>({"-z", "x"}).starts_with("run: unknown flag: -z"));
}

TEST_CASE("what torchrun has and means nothing here says why") {
  CHECK(message_of<UnsupportedError>({"-m", "x"}) ==
        "run: -m has no meaning here: programs are run as they are; give python3 -m MODULE as the program");
  CHECK(message_of<UnsupportedError>({"--monitor-interval=1", "x"}).starts_with("run: --monitor-interval has no meaning here: "));
  CHECK(message_of<UnsupportedError>({"--start_method=spawn", "x"}).starts_with("run: --start_method has no meaning here: "));
  CHECK(message_of<UnsupportedError>({"--policy", "spare", "x"}) ==
        "run: --policy spare: no rank waits in reserve yet; shrink and respawn exist");
  CHECK(message_of<UnsupportedError>({"--policy", "gang", "x"}).starts_with("run: --policy gang: "));
  CHECK(message_of<UnsupportedError>({"--nproc-per-node", "gpu", "x"}).starts_with("run: --nproc-per-node gpu: "));
  CHECK(message_of<UnsupportedError>({"--rdzv-backend", "etcd-v2", "x"}).starts_with("run: --rdzv-backend etcd: "));
}

TEST_CASE("values that do not fit are named") {
  for (const std::vector<std::string>& arguments : std::vector<std::vector<std::string>>{
           {"--nnodes", "0", "x"},
           {"--nnodes", "4:2", "x"},
           {"--nnodes", "a", "x"},
           {"--nproc-per-node", "-1", "x"},
           {"--nproc-per-node", "1025", "x"},
           {"--max-restarts", "", "x"},
           {"--redirects", "4", "--log-dir", "l", "x"},
           {"--redirects", "3", "x"},
           {"--rdzv-conf", "speed=1", "x"},
           {"--policy", "hope", "x"},
           {"--chaos", "kill:1", "x"},
           {"--standalone=1", "x"},
           {"--standalone", "--nnodes", "2", "x"},
           {"--policy", "shrink", "--min-ranks", "3", "--nproc-per-node", "2", "x"},
           {"--nnodes"},
           {},
           {"--standalone"},
       }) {
    CAPTURE(arguments);
    CHECK_THROWS_AS(parse(arguments), ArgumentError);
  }
  CHECK(message_of<ArgumentError>({"--nnodes"}) == "run: --nnodes needs a value: N or MIN:MAX");
}

TEST_CASE("the help names every flag once") {
  CHECK(parse({"--help"}).help == true);
  const std::string help = run_help();
  for (const char* flag : {"--nnodes N or MIN:MAX", "--chaos PLAN", "-t, --tee N", "--secret-file FILE"})
    CHECK(help.find(flag) != std::string::npos);
}

}  // namespace
}  // namespace resilin::dist
