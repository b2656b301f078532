// tests/dist/membership/step_votes_test.cpp -- the outcome of votes that a generation left open.
#include "resilin/dist/membership/step_votes.h"

#include <vector>

#include <doctest/doctest.h>

namespace resilin::dist {
namespace {

StepBlob blob(std::uint64_t vote, Vote cast, std::uint64_t step, std::uint64_t digest, bool has_state = true) {
  return {.generation = 3, .vote = vote, .cast = cast, .step = step, .digest = digest, .has_state = has_state};
}

}  // namespace

TEST_CASE("a vote passes when all of base are in doubt about it, else it fails") {
  CHECK(outcome_of({blob(4, Vote::Yes, 2, 7), blob(4, Vote::Yes, 2, 7)}).in_doubt == Vote::Yes);
  CHECK(outcome_of({blob(4, Vote::Yes, 2, 7), blob(4, Vote::Yes, 2, 7)}).step == 3);
  CHECK(outcome_of({blob(4, Vote::Yes, 2, 7), blob(4, Vote::None, 2, 7)}).in_doubt == Vote::No);
  CHECK(outcome_of({blob(4, Vote::Yes, 2, 7), blob(5, Vote::Yes, 2, 7)}).in_doubt == Vote::No);
  CHECK(outcome_of({blob(0, Vote::Yes, 2, 7), blob(0, Vote::None, 0, 0, false)}).in_doubt == Vote::No);
}

TEST_CASE("whoever is a step behind applies what another saw pass, however many votes failed since") {
  const std::uint64_t after = digest_after(7, 3, 4);
  const Outcome outcome = outcome_of({blob(4, Vote::Yes, 2, 7), blob(7, Vote::None, 3, after)});
  CHECK(outcome.agrees);
  CHECK(outcome.step == 3);
  CHECK(outcome.digest == after);
  CHECK_FALSE(outcome_of({blob(4, Vote::Yes, 2, 7), blob(7, Vote::None, 3, after + 1)}).agrees);
}

TEST_CASE("without a member that has the state, it is lost") {
  CHECK_FALSE(outcome_of({blob(0, Vote::None, 0, 0, false)}).has_state);
  CHECK_FALSE(outcome_of({}).has_state);
}

}  // namespace resilin::dist
