// tests/tool/train_job_test.cpp -- what the ranks of a job agree on, and how they claim the folder of its run.
#include "tools/resilin/train_job.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::tool {
namespace {

namespace fs = std::filesystem;

std::set<std::string> names_in(const std::string& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

TEST_CASE("the first rank that asks says where the job began, and no other job has its id") {
  const std::shared_ptr<dist::Store> store = dist::make_hash_store(), other = dist::make_hash_store();
  const TrainJob first = agree_on_job(*store, 100), later = agree_on_job(*store, 300);
  CHECK(later.id == first.id);
  CHECK(later.first_step == 100);
  CHECK(agree_on_job(*other, 100).id != first.id);
  CHECK(!is_finished(*store));
  note_finished(*store);
  CHECK(is_finished(*store));
  CHECK(!is_finished(*other));
}

TEST_CASE("of ranks that claim a folder at once one moves the ledger of the job before, and nobody moves that of its own") {
  const resilin::testing::TemporaryFolder place;
  const std::string run = place.path() + "/run";
  for (const std::string job : {"a", "b", "c"}) {
    std::vector<std::thread> ranks;
    for (int rank = 0; rank < 8; ++rank) {
      ranks.emplace_back([&, rank] {
        claim_run_folder(run, job, false);
        std::ofstream(cat(run, "/ledger/", rank, ".0.jsonl")) << job;
      });
    }
    for (std::thread& rank : ranks) rank.join();
  }
  CHECK(names_in(run) == std::set<std::string>{"claim.lock", "ledger", "ledger.1", "ledger.2"});
  int number = 0;
  for (const std::string job : {"a", "b", "c"}) {
    const std::string folder = ++number == 3 ? run + "/ledger" : cat(run, "/ledger.", number);
    for (int rank = 0; rank < 8; ++rank) CHECK(read_file(cat(folder, "/", rank, ".0.jsonl")) == job);
  }
}

TEST_CASE("a job that goes on leaves the checkpoints where they are, one that begins anew moves them") {
  const resilin::testing::TemporaryFolder place;
  fs::create_directories(place.path() + "/checkpoints");
  claim_run_folder(place.path(), "a", false);
  CHECK(names_in(place.path()) == std::set<std::string>{"checkpoints", "claim.lock", "ledger"});
  claim_run_folder(place.path(), "b", true);
  fs::create_directories(place.path() + "/checkpoints");
  claim_run_folder(place.path(), "b", true);  // another rank of it
  CHECK(names_in(place.path()) == std::set<std::string>{"checkpoints", "checkpoints.1", "claim.lock", "ledger", "ledger.1"});
  CHECK_THROWS_AS(claim_run_folder("/proc/no", "a", false), IoError);
}

}  // namespace
}  // namespace resilin::tool
