// tests/tool/follow_test.cpp -- what the events of a run say, and a file of them that grows while it is read.
#include "tools/resilin/follow.h"

#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"

namespace resilin::tool {
namespace {

Event event(const std::string& line) {
  const std::optional<Event> read = parse_event(line);
  REQUIRE(read);
  return *read;
}

std::string commit(i64 step, i64 t_us, const std::string& more = "") {
  return cat(R"({"t_us":)", t_us, R"(,"what":"commit","rank":0,"life":0,"generation":2,"world":4,"step":)", step,
             R"(,"loss":2.5,"samples":96,"tokens_per_s":51000.0,"step_ms":120.5)", more, "}");
}

/// All messages of these lines.
std::vector<std::string> told(RunStory& story, const std::vector<std::string>& lines) {
  std::vector<std::string> messages;
  for (const std::string& line : lines) {
    for (const std::string& message : story.take(event(line)).messages) messages.push_back(message);
  }
  return messages;
}

TEST_CASE("a kill, the recovery and the return are told once each, in words") {
  RunStory story;
  const std::vector<std::string> messages = told(
      story,
      {R"({"t_us":1,"what":"start","rank":2,"life":0,"pid":7})",
       R"({"t_us":2,"what":"run","rank":0,"life":0,"steps":400,"batch":96,"tokens_per_step":6144,"parameters":850000,"first_step":0})",
       R"({"t_us":2,"what":"run","rank":1,"life":0,"steps":400,"batch":96,"tokens_per_step":6144,"parameters":850000,"first_step":0})",
       R"({"t_us":3,"what":"generation","rank":0,"life":0,"generation":1,"group_rank":0,"world":4,"cause":"first","step":0,"members":[0,1,2,3],"after_ms":0})",
       R"({"t_us":3,"what":"generation","rank":1,"life":0,"generation":1,"group_rank":1,"world":4,"cause":"first","step":0,"members":[0,1,2,3],"after_ms":0})",
       R"({"t_us":4,"what":"kill","rank":2,"life":0,"signal":9,"step":50})",
       R"j({"t_us":5,"what":"exit","rank":2,"life":0,"cause":"was killed by SIGKILL (Killed)"})j",
       R"({"t_us":6,"what":"lost","rank":0,"life":0,"generation":1,"step":50,"error":"..."})",
       R"({"t_us":6,"what":"in_doubt","rank":0,"life":0,"generation":1,"step":50,"outcome":"yes"})",
       R"({"t_us":6,"what":"in_doubt","rank":1,"life":0,"generation":1,"step":50,"outcome":"yes"})",
       R"({"t_us":7,"what":"generation","rank":0,"life":0,"generation":2,"group_rank":0,"world":3,"cause":"shrink","step":51,"members":[0,1,3],"after_ms":41.23})",
       R"({"t_us":8,"what":"start","rank":2,"life":1,"pid":8})",
       R"({"t_us":224004,"what":"commit","rank":0,"life":0,"generation":2,"world":3,"step":51,"loss":2.5})",
       R"({"t_us":9,"what":"generation","rank":0,"life":0,"generation":3,"group_rank":0,"world":4,"cause":"join","step":57,"members":[0,1,2,3],"after_ms":0})",
       R"({"t_us":9,"what":"heal","rank":2,"life":1,"generation":3,"step":58,"bytes":10200000,"ms":35.0})",
       R"({"t_us":1000008,"what":"commit","rank":0,"life":0,"generation":3,"world":4,"step":58,"loss":2.5})",
       R"({"t_us":1200008,"what":"plan","rank":0,"life":0,"step":59,"steps":300})",
       R"({"t_us":1300008,"what":"run","rank":2,"life":2,"steps":400,"batch":96,"tokens_per_step":6144,"parameters":850000,"first_step":0})",
       R"({"t_us":10,"what":"held_out","rank":0,"life":0,"step":400,"loss":1.4901,"bigram_entropy":2.2571})",
       R"({"t_us":10,"what":"sample","rank":0,"life":0,"text":"And the LORD"})",
       R"({"t_us":11,"what":"exit","rank":0,"life":0,"cause":"exited with code 0"})",
       R"({"t_us":12,"what":"something new","rank":0,"life":0})"});
  CHECK(messages == std::vector<std::string>{
                        "a model of 850000 parameters: 400 steps of 96 samples",
                        "step 0: generation 1: 4 ranks (0, 1, 2, 3)",
                        "step 50: rank 2 is killed (SIGKILL)",
                        "step 50: the vote was cut off; it counts",
                        "step 51: generation 2: 3 ranks (0, 1, 3)",
                        "rank 2 is started again",
                        "step 51: committed by 3 ranks, 224 ms after rank 2 was killed",
                        "step 57: generation 3: 4 ranks (0, 1, 2, 3), one comes back",
                        "step 58: rank 2 has the state again: 10.2 MB in 35.0 ms",
                        "step 58: committed by all 4 ranks, 1000 ms after rank 2 was started again",
                        "step 59: 300 steps fit into the time",
                        "step 400: held-out loss 1.490 nats a byte; knowing only the byte before leaves 2.257",
                        "And the LORD",
                    });
  CHECK(story.deaths() == 1);
  CHECK(story.generations() == 3);
  CHECK(story.progress().world == 4);
  CHECK(story.progress().steps == 300);
}

TEST_CASE("other deaths, stops and a resumed run have their words") {
  RunStory story;
  CHECK(told(story, {R"({"t_us":1,"what":"run","rank":3,"life":0,"steps":400,"first_step":200})",
                     R"({"t_us":1,"what":"kill","rank":1,"life":0,"signal":19,"step":80})",
                     R"({"t_us":1,"what":"kill","rank":1,"life":0,"signal":18,"step":80})",
                     R"j({"t_us":1,"what":"exit","rank":1,"life":0,"cause":"was killed by SIGSEGV (Segmentation fault)"})j"}) ==
        std::vector<std::string>{"the run: 400 steps, from step 200 on", "step 80: rank 1 is stopped (SIGSTOP)",
                                 "step 80: rank 1 may go on (SIGCONT)", "rank 1 was killed by SIGSEGV (Segmentation fault)"});
  CHECK(story.deaths() == 1);
  CHECK(story.progress().step == 200);
}

TEST_CASE("commits move the progress, whoever tells them, and never back") {
  RunStory story;
  story.take(event(R"({"t_us":2,"what":"run","rank":0,"life":0,"steps":100})"));
  CHECK(story.take(event(commit(0, 1'000'000))).progressed);
  CHECK(story.progress().step == 1);
  CHECK_FALSE(story.progress().left_s);
  for (i64 step = 1; step < 10; ++step) story.take(event(commit(step, 1'000'000 + step * 100'000)));
  CHECK(story.progress().step == 10);
  CHECK(*story.progress().loss == 2.5);
  CHECK(story.progress().world == 4);
  CHECK(*story.progress().left_s == doctest::Approx(9.0));  // 90 steps of 0.1 s
  CHECK_FALSE(story.take(event(commit(9, 2'000'000))).progressed);
  CHECK_FALSE(story.take(event(commit(4, 2'000'000))).progressed);
  CHECK(story.progress().step == 10);
  CHECK(story.take(event(commit(99, 3'000'000))).progressed);
  CHECK(*story.progress().left_s == 0);
}

TEST_CASE("events that lack members, or have others, are no reason to stop") {
  RunStory story;
  for (const char* what : {"run", "start", "kill", "exit", "generation", "in_doubt", "heal", "commit", "held_out", "sample"}) {
    CAPTURE(what);
    story.take(Event{what, 1, 1, {}, 5});
    for (const Json& wrong : {Json("text"), Json(1.5), Json(), Json(Json::Array{Json(1), Json("x")}), Json(true), Json(i64{-5}),
                              Json(std::numeric_limits<i64>::max()), Json(std::numeric_limits<i64>::min())}) {
      Event bad{what, 1, 1, {}, 5};
      for (const char* key : {"steps", "batch", "parameters", "first_step", "signal", "step", "cause", "generation", "group_rank", "world",
                              "members", "after_ms", "outcome", "bytes", "ms", "loss", "tokens_per_s", "bigram_entropy", "text"}) {
        bad.more.emplace_back(key, wrong);
      }
      RunStory fresh;
      fresh.take(bad);
      progress_text(fresh.progress());
      story.take(bad);
    }
  }
  progress_text(story.progress());
  CHECK(told(story, {R"({"t_us":1,"what":"held_out","rank":0,"life":0,"loss":null})"}) ==
        std::vector<std::string>{"held-out loss not finite nats a byte"});
}

void append(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::app | std::ios::binary) << text << std::flush;
}

TEST_CASE("a tail gives whole lines only, once each, from a file that comes later") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  EventTail tail(path);
  CHECK(tail.read().empty());
  const std::string first = commit(1, 5), second = commit(2, 6);
  append(path, first.substr(0, 20));
  CHECK(tail.read().empty());
  append(path, first.substr(20));
  CHECK(tail.read().empty());
  append(path, "\n" + second + "\n" + second.substr(0, 3));
  const std::vector<Event> events = tail.read();
  REQUIRE(events.size() == 2);
  CHECK(events[0].find("step")->integer() == 1);
  CHECK(events[1].find("step")->integer() == 2);
  CHECK(tail.read().empty());
  append(path, second.substr(3) + "\nno event\n\n" + first + "\n");
  CHECK(tail.read().size() == 2);
}

TEST_CASE("a tail bears lines without end and more than it takes at once") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  append(path, commit(1, 5) + "\n" + std::string(5 << 20, 'x') + "\n" + commit(2, 6) + "\n");
  EventTail tail(path);
  std::vector<Event> events = tail.read();
  CHECK(events.size() == 1);
  CHECK(tail.is_behind());
  for (const Event& more : tail.read()) events.push_back(more);
  CHECK_FALSE(tail.is_behind());
  REQUIRE(events.size() == 2);
  CHECK(events[1].find("step")->integer() == 2);
}

TEST_CASE("a tail loses and doubles nothing while others append") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/events.jsonl";
  constexpr i64 kEach = 2000;
  std::vector<std::thread> writers;
  for (i64 rank = 0; rank < 2; ++rank) {
    writers.emplace_back([&path, rank] {
      EventLog log(path);
      for (i64 step = 0; step < kEach; ++step) log.append({"step", rank, 0, {{"step", step}}});
    });
  }
  EventTail tail(path);
  std::vector<i64> next(2, 0);
  const auto take = [&] {
    for (const Event& one : tail.read()) CHECK(one.find("step")->integer() == next[static_cast<std::size_t>(one.rank)]++);
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while ((next[0] < kEach || next[1] < kEach) && std::chrono::steady_clock::now() < deadline) take();
  for (std::thread& writer : writers) writer.join();
  CHECK(next == std::vector<i64>{kEach, kEach});
}

TEST_CASE("a view shows messages and progress in their order") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/shown";
  const int file = open(path.c_str(), O_WRONLY | O_CREAT, 0600);
  RunView view(ProgressForm::Plain, file);
  for (const std::string& line : {std::string(R"({"t_us":2,"what":"run","rank":0,"life":0,"steps":2})"), commit(0, 5),
                                  std::string(R"({"t_us":6,"what":"kill","rank":2,"life":0,"signal":9,"step":1})"), commit(1, 7)}) {
    view.show(event(line));
  }
  view.finish();
  close(file);
  CHECK(read_file(path) ==
        "the run: 2 steps\n"
        "step 1 of 2   loss 2.500   51000 tokens/s   world 4   generation 2\n"
        "step 1: rank 2 is killed (SIGKILL)\n"
        "step 2 of 2   loss 2.500   51000 tokens/s   world 4   generation 2\n");
}

}  // namespace
}  // namespace resilin::tool
