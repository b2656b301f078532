// tests/dist/launch/rank_info_test.cpp -- the environment of a rank.
#include "resilin/dist/launch/rank_info.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

Environment variables_of(const std::vector<std::string>& variables) {
  std::map<std::string, std::string> map;
  for (const std::string& variable : variables) {
    CHECK(map.emplace(variable.substr(0, variable.find('=')), variable.substr(variable.find('=') + 1)).second);  // none twice
  }
  return [map](const std::string& name) -> std::optional<std::string> {
    const auto found = map.find(name);
    if (found == map.end()) return std::nullopt;
    return found->second;
  };
}

TEST_CASE("a rank reads back what its launcher wrote") {
  RankInfo info;
  info.rank = 5;
  info.local_rank = 1;
  info.world_size = 8;
  info.local_world_size = 4;
  info.group_rank = 1;
  info.restart_count = 3;
  info.instance = 0xfedcba9876543210u;
  info.run_id = "job";
  info.store_address = "unix:/x";
  info.secret_descriptor = 9;
  info.threads = 2;
  const std::vector<std::string> variables = rank_environment(info, {"PATH=/bin", "RANK=77", "RESILIN_SECRET_FILE=/of/the/agent"});
  const std::optional<RankInfo> read = read_rank_info(variables_of(variables));
  REQUIRE(read.has_value());
  CHECK(read->rank == 5);
  CHECK(read->world_size == 8);
  CHECK(read->restart_count == 3);
  CHECK(read->instance == info.instance);
  CHECK(read->store_address == "unix:/x");
  CHECK(read->secret_descriptor == 9);
  CHECK(read->secret_file.empty());
  CHECK(std::ranges::find(variables, "PATH=/bin") != variables.end());
  CHECK(std::ranges::find(variables, "OMP_NUM_THREADS=2") != variables.end());
  CHECK(std::ranges::find(variables, "TORCHELASTIC_RESTART_COUNT=3") != variables.end());
}

TEST_CASE("the user's own OMP_NUM_THREADS stays") {
  const std::vector<std::string> variables = rank_environment({}, {"OMP_NUM_THREADS=6"});
  CHECK(std::ranges::count(variables, "OMP_NUM_THREADS=6") == 1);
  variables_of(variables);
}

TEST_CASE("mpirun and srun are understood, and no launcher is nothing") {
  CHECK_FALSE(read_rank_info(variables_of({"PATH=/bin"})).has_value());
  const std::optional<RankInfo> mpi = read_rank_info(
      variables_of({"OMPI_COMM_WORLD_RANK=3", "OMPI_COMM_WORLD_SIZE=4", "OMPI_COMM_WORLD_LOCAL_RANK=1", "OMPI_COMM_WORLD_LOCAL_SIZE=2"}));
  REQUIRE(mpi.has_value());
  CHECK(mpi->rank == 3);
  CHECK(mpi->world_size == 4);
  CHECK(mpi->local_rank == 1);
  CHECK(mpi->local_world_size == 2);
  const std::optional<RankInfo> slurm =
      read_rank_info(variables_of({"SLURM_PROCID=2", "SLURM_NTASKS=6", "SLURM_LOCALID=0", "SLURM_NODEID=1"}));
  REQUIRE(slurm.has_value());
  CHECK(slurm->rank == 2);
  CHECK(slurm->group_rank == 1);
  CHECK(slurm->local_world_size == 1);  // nobody has said how many
}

TEST_CASE("srun's job has a name, and on one host all ranks are there") {
  const std::vector<std::string> variables = {"SLURM_PROCID=2", "SLURM_NTASKS=6", "SLURM_LOCALID=2", "SLURM_JOB_ID=12", "SLURM_STEP_ID=0"};
  std::vector<std::string> one_host = variables, two_hosts = variables;
  one_host.emplace_back("SLURM_STEP_NUM_NODES=1");
  two_hosts.emplace_back("SLURM_STEP_NUM_NODES=2");
  const std::optional<RankInfo> one = read_rank_info(variables_of(one_host)), two = read_rank_info(variables_of(two_hosts));
  REQUIRE(one.has_value());
  REQUIRE(two.has_value());
  CHECK(one->run_id == "slurm-12-0");
  CHECK(one->local_world_size == 6);
  CHECK(two->local_world_size == 1);
  CHECK(two->group_world_size == 2);
}

TEST_CASE("ranks by RANK alone are on one host when they meet at its own address") {
  const std::optional<RankInfo> here = read_rank_info(variables_of({"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=127.0.0.1"}));
  const std::optional<RankInfo> anywhere = read_rank_info(variables_of({"RANK=1", "WORLD_SIZE=4", "MASTER_ADDR=10.0.0.7"}));
  REQUIRE(here.has_value());
  REQUIRE(anywhere.has_value());
  CHECK(here->local_world_size == 4);
  CHECK(anywhere->local_world_size == 1);
}

TEST_CASE("a damaged variable is named") {
  CHECK_THROWS_WITH_AS(read_rank_info(variables_of({"RANK=one"})), "rank_info: RANK is \"one\"; the launcher writes a number",
                       ArgumentError);
}

}  // namespace
}  // namespace resilin::dist
