// tests/tool/report_test.cpp -- the page about a run: well formed, complete, with everything in its place, whatever the files hold.
#include "tools/resilin/report.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include <doctest/doctest.h>

#include "resilin/base/error.h"
#include "resilin/base/file.h"

#include "tests/support/temporary_folder.h"
#include "tests/tool/markup.h"
#include "tests/tool/report_run.h"

#include "tools/resilin/report_story.h"

namespace resilin {
namespace {

using testing::Element;
using testing::MadeRun;
using testing::make_run;
using testing::read_markup;
using testing::TemporaryFolder;

std::string page_of(const std::string& run_folder) {
  const std::string path = run_folder + "/page.html";
  const tool::ReportSummary written = tool::write_report(run_folder, path);
  std::string page = read_file(path);
  CHECK(written.bytes == page.size());
  return page;
}

std::string page_of(const MadeRun& run) {
  const TemporaryFolder folder;
  run.write(folder.path());
  return page_of(folder.path());
}

/// The lines as events.jsonl of an otherwise empty run.
std::string page_of_lines(const std::string& lines) {
  const TemporaryFolder folder;
  std::ofstream(folder.path() + "/events.jsonl", std::ios::binary) << lines;
  return page_of(folder.path());
}

/// The elements within one form of one figure.
std::vector<Element> within(const std::vector<Element>& page, const std::string& figure, const std::string& form) {
  std::vector<Element> found;
  for (const Element& element : page) {
    const auto is_around = [&](const std::string& mark) {
      return std::find(element.inside.begin(), element.inside.end(), mark) != element.inside.end();
    };
    if (is_around("#" + figure) && is_around("." + form)) found.push_back(element);
  }
  return found;
}

bool has_text(const std::vector<Element>& elements, const std::string& words) {
  return std::any_of(elements.begin(), elements.end(),
                     [&](const Element& element) { return element.name == "text" && element.text == words; });
}

/// The tick that says `words` on the axis across.
double tick_at(const std::vector<Element>& figure, const std::string& words) {
  for (const Element& element : figure) {
    if (element.at("class") == "tick" && element.at("text-anchor") == "middle" && element.text == words) return std::stod(element.at("x"));
  }
  throw std::runtime_error("no tick " + words);
}

/// Where the signs of this class stand across.
std::vector<double> signs_at(const std::vector<Element>& figure, const std::string& sign) {
  std::vector<double> places;
  for (const Element& element : figure) {
    const bool on_lane = std::find(element.inside.begin(), element.inside.end(), ".on-lane") != element.inside.end();
    if (element.name == "g" && element.at("class") == sign && !on_lane) places.push_back(std::stod(element.at("transform").substr(10)));
  }
  return places;
}

constexpr const char* kFigures[] = {"loss-step", "loss-time", "throughput-time", "world-time",
                                    "ranks",     "around-0",  "recoveries",      "goodput-ranks"};

TEST_CASE("the page is well formed and has each figure with its labels, in both widths") {
  const std::vector<Element> page = read_markup(page_of(make_run()));
  static const std::map<std::string, std::vector<std::string>> kLabels = {
      {"loss-step", {"loss, nats per token", "step", "bigram entropy 2.257", "held out 1.512", "kill", "shrink", "join", "heal"}},
      {"loss-time", {"loss, nats per token", "time since the start, s", "kill"}},
      {"throughput-time", {"throughput, tokens/s", "time since the start, s", "20,000"}},
      {"world-time", {"world size, ranks", "time since the start, s", "4", "3"}},
      {"ranks", {"rank 0", "rank 3", "time since the start, s", "generation 1", "generation 2", "generation 3", "healing"}},
      {"around-0", {"rank 2", "time since the kill, ms", "45", "60", "kill", "healing"}},
      {"recoveries", {"kill to next commit", "respawn to full world", "ms", "kill of rank 2 at step 50"}},
      {"goodput-ranks", {"train", "data", "checkpoint", "recover", "idle", "not reported", "rank 2", "time of the rank, s"}},
  };
  for (const char* figure : kFigures) {
    for (const char* form : {"wide", "narrow"}) {
      const std::vector<Element> elements = within(page, figure, form);
      CAPTURE(figure);
      CAPTURE(form);
      CHECK(std::count_if(elements.begin(), elements.end(), [](const Element& e) { return e.name == "desc" && !e.text.empty(); }) == 1);
      for (const std::string& label : kLabels.at(figure)) CHECK_MESSAGE(has_text(elements, label), label);
    }
    const auto caption = std::find_if(page.begin(), page.end(), [&](const Element& e) {
      return e.name == "figcaption" && std::find(e.inside.begin(), e.inside.end(), cat("#", figure)) != e.inside.end();
    });
    REQUIRE(caption != page.end());
    CHECK(caption->text.size() > 40);
  }
}

TEST_CASE("the header has the figures of the run") {
  const std::vector<Element> page = read_markup(page_of(make_run()));
  std::map<std::string, std::string> tiles;
  std::string label;
  for (const Element& element : page) {
    if (element.name == "dt") label = element.text;
    if (element.name == "dd") tiles[label] = element.text;
  }
  CHECK(tiles.at("Committed steps") == "400of 400 planned, 3 generations");
  CHECK(tiles.at("Held-out loss") == "1.512bigram entropy 2.257");
  CHECK(tiles.at("Ledger") == "holds400 steps and 9,600 samples once each");
  CHECK(tiles.at("Kill to next commit").find(" ms") != std::string::npos);
  CHECK(tiles.at("Goodput") == "93.2 %train, as 4 of 5 lives report");
}

TEST_CASE("markers stand where their events are") {
  const MadeRun run = make_run();
  const std::vector<Element> page = read_markup(page_of(run));
  for (const char* form : {"wide", "narrow"}) {
    for (const char* name : {"loss-time", "throughput-time", "world-time", "ranks"}) {
      CAPTURE(name);
      const std::vector<Element> figure = within(page, name, form);
      const double zero = tick_at(figure, "0"), second = (tick_at(figure, "40") - zero) / 40;
      const std::pair<const char*, double> expected[] = {
          {"kill", run.kill_s}, {"shrink", run.shrink_s}, {"join", run.join_s}, {"heal", run.join_s + 0.035}};
      for (const auto& [sign, t_s] : expected) {
        const std::vector<double> places = signs_at(figure, sign);
        REQUIRE(places.size() == 1);
        CHECK(places[0] == doctest::Approx(zero + t_s * second).epsilon(0.001));
      }
    }
    const std::vector<Element> steps = within(page, "loss-step", form);
    const double zero = tick_at(steps, "0"), step = (tick_at(steps, "400") - zero) / 400;
    CHECK(signs_at(steps, "kill").at(0) == doctest::Approx(zero + 50 * step).epsilon(0.001));
    CHECK(signs_at(steps, "join").at(0) == doctest::Approx(zero + 60 * step).epsilon(0.001));
    const std::vector<Element> zoom = within(page, "around-0", form);
    CHECK(signs_at(zoom, "kill").at(0) == doctest::Approx(tick_at(zoom, "0")).epsilon(0.001));
    const double ms = (tick_at(zoom, "1,000") - tick_at(zoom, "0")) / 1000;
    CHECK(signs_at(zoom, "join").at(0) == doctest::Approx(tick_at(zoom, "0") + (run.join_s - run.kill_s) * 1e3 * ms).epsilon(0.002));
  }
}

TEST_CASE("recoveries are measured from the events") {
  const TemporaryFolder folder;
  const MadeRun run = make_run();
  run.write(folder.path());
  const tool::Story story = tool::make_story(tool::read_events(folder.path() + "/events.jsonl"));
  REQUIRE(story.recoveries.size() == 1);
  const tool::Recovery& recovery = story.recoveries[0];
  CHECK(recovery.to_commit_ms == doctest::Approx((run.next_commit_s - run.kill_s) * 1e3).epsilon(1e-4));
  CHECK(recovery.commit_step == 50);
  CHECK(recovery.to_respawn_ms == doctest::Approx(110).epsilon(1e-4));
  CHECK(recovery.to_full_ms == doctest::Approx((run.join_s - run.respawn_s) * 1e3).epsilon(1e-4));
  CHECK(recovery.heal_ms == 35);
  CHECK(story.full_world == 4);
  CHECK(story.unreported == std::vector<tool::LifeKey>{{2, 1}});
}

TEST_CASE("a commit of the generation that the kill ended is no recovery") {
  const auto event = [](i64 t_ms, const std::string& rest) {
    return cat("{\"t_us\":", t_ms * 1000, ",\"rank\":0,\"life\":1,", rest, "}\n");
  };
  std::string lines = event(0, R"("what":"generation","generation":1,"world":2,"cause":"first","step":0)") +
                      event(10, R"("what":"commit","generation":1,"world":2,"step":0,"loss":2.0)") +
                      event(20, R"("what":"kill","signal":9,"step":1)") +
                      event(21, R"("what":"commit","generation":1,"world":2,"step":1,"loss":2.0)");
  const auto recovery_ms = [](const std::string& text) {
    const TemporaryFolder folder;
    std::ofstream(folder.path() + "/events.jsonl") << text;
    return tool::make_story(tool::read_events(folder.path() + "/events.jsonl")).recoveries.at(0).to_commit_ms;
  };
  CHECK(std::isnan(recovery_ms(lines)));
  lines += event(60, R"("what":"commit","generation":2,"world":1,"step":2,"loss":2.0)");
  CHECK(recovery_ms(lines) == doctest::Approx(40));
}

TEST_CASE("an end that nobody asked for counts as a kill, and signals that stop do not") {
  const std::string page = page_of_lines(
      "{\"t_us\":1000000,\"what\":\"start\",\"rank\":0,\"life\":1,\"pid\":1}\n{\"t_us\":2000000,\"what\":\"kill\",\"rank\":0,\"life\":1,"
      "\"signal\":19,\"step\":3}\n"
      "{\"t_us\":3000000,\"what\":\"exit\",\"rank\":0,\"life\":1,\"cause\":\"exit 1\"}\n");
  CHECK(page.find("end of rank 0 at step 0") != std::string::npos);
  CHECK(page.find("kill of rank 0") == std::string::npos);
}

TEST_CASE("lives that report no goodput are named") {
  CHECK(page_of(make_run()).find("A life that was killed reports nothing: rank 2 life 1.") != std::string::npos);
}

TEST_CASE("a run without events says so") {
  const TemporaryFolder folder;
  for (const char* lines : {"", "\n\n", "no json\n", "{}\n", "\xff\xff"}) {
    CAPTURE(lines);
    const std::string page = page_of_lines(lines);
    CHECK(page.find("There are no events") != std::string::npos);
    CHECK_NOTHROW(read_markup(page));
  }
  const std::string page = page_of(folder.path());  // without events.jsonl
  CHECK(page.find("There are no events") != std::string::npos);
  CHECK(page.find("<figure") == std::string::npos);
}

TEST_CASE("a figure without events of its kind says what is missing") {
  const std::string page =
      page_of_lines("{\"t_us\":1,\"what\":\"start\",\"rank\":0,\"life\":1,\"pid\":1}\n{\"t_us\":2,\"what\":\"news\"}\n{\"t_us\":3}\n");
  read_markup(page);
  for (const char* words : {"There are no commits with a loss.", "There are no commits with a throughput.", "There are no generations.",
                            "No rank was killed in this run.", "No life of a rank has reported its goodput.",
                            "1 line of events.jsonl could not be read and is left out."}) {
    CHECK_MESSAGE(page.find(words) != std::string::npos, words);
  }
}

TEST_CASE("what the ledger does not hold is shown") {
  const TemporaryFolder folder;
  make_run(60, 20, 30).write(folder.path());
  std::filesystem::remove(folder.path() + "/ledger/0.1.jsonl");
  const std::string page = page_of(folder.path());
  read_markup(page);
  CHECK(page.find("What does not hold of the ledger") != std::string::npos);
  CHECK(page.find("that of group rank 0 is missing") != std::string::npos);
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("text of files is shown, never obeyed") {
  const TemporaryFolder folder;
  const std::string run = folder.path() + "/<img src=x onerror=alert(1)>";
  const std::string evil = R"(</script></pre><script>alert(1)</script>\u0000\u001b&\"'<svg onload=alert(2)>)";
  make_run(60, 20, 30).write(run);
  std::ofstream more(run + "/events.jsonl", std::ios::app);
  more << R"({"t_us":1780000001000000,"what":"exit","rank":7,"life":1,"cause":")" << evil << "\"}\n"
       << R"({"t_us":1780000001000000,"what":"generation","rank":0,"life":1,"generation":9,"world":4,"cause":")" << evil << "\"}\n"
       << R"({"t_us":1780000001000000,"what":"sample","rank":0,"life":1,"text":")" << evil << std::string(500'000, 'x') << "\"}\n";
  more.close();
  std::ofstream(run + "/result.json") << R"({")" << evil << R"(":[")" << evil << R"(", {"b":1e300}],"c":")" << evil << "\"}";
  const std::string page = page_of(run);
  const std::vector<Element> elements = read_markup(page);
  CHECK(count_of(page, "<script") == 1);
  CHECK(count_of(page, "</script") == 1);
  CHECK(count_of(page, "<img") == 0);
  CHECK(page.size() < 400'000);
  for (const Element& element : elements) {
    for (const auto& [name, value] : element.attributes) CHECK(name.substr(0, 2) != "on");
    // Nothing is fetched.
    CHECK_MESSAGE((element.at("src") + element.at("href")).empty(), element.name);
  }
}

TEST_CASE("numbers without measure do not spoil the page") {
  std::string lines =
      "{\"t_us\":1000000,\"what\":\"commit\",\"rank\":0,\"life\":1,\"generation\":1,\"world\":9223372036854775807,\"step\":1,\"loss\":NaN}"
      "\n";
  const auto commit = [&](const std::string& t_us, const std::string& step, const std::string& loss) {
    lines += cat("{\"t_us\":", t_us, ",\"what\":\"commit\",\"rank\":0,\"life\":1,\"generation\":-5,\"world\":-3,\"step\":", step,
                 ",\"loss\":", loss, ",\"tokens_per_s\":", loss, "}\n");
  };
  commit("0", "9223372036854775806", "1e308");
  commit("-9223372036854775808", "-1", "-1e17");
  commit("9223372036854775807", "5", "1e17");
  commit("1e17", "6", "null");
  commit("\"1\"", "7", "1");
  lines +=
      "{\"t_us\":5,\"what\":\"kill\",\"rank\":-9223372036854775808,\"life\":9223372036854775807,\"signal\":9,\"step\":9223372036854775807}"
      "\n";
  lines +=
      "{\"t_us\":5,\"what\":\"step\",\"rank\":1,\"life\":1,\"generation\":1,\"step\":9223372036854775807,\"begin_us\":1,\"end_us\":9e17}\n";
  lines += "{\"t_us\":5,\"what\":\"goodput\",\"rank\":1,\"life\":1,\"train_s\":1e300,\"data_s\":-5,\"idle_s\":\"x\"}\n";
  const std::string page = page_of_lines(lines);
  for (const Element& element : read_markup(page)) {
    for (const char* number : {"x", "y", "x1", "width", "height", "points"}) {
      CHECK(element.at(number).find("nan") == std::string::npos);
      CHECK(element.at(number).find("inf") == std::string::npos);
    }
  }
}

TEST_CASE("events with damaged bytes give a well-formed page") {
  const TemporaryFolder folder;
  std::string valid;
  for (const std::string& line : make_run(24, 8, 14).events) valid += line + "\n";
  static constexpr const char* kPieces[] = {"9223372036854775807", "-1", "1e308", "null", "[", "\"", "\n", "<", "&", "1.5", "NaN", "]]>"};
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::string bytes = valid;
    for (int count = 0; count < 30; ++count) {
      const std::size_t at = static_cast<std::size_t>(random() % bytes.size());
      if (random() % 3 == 0) {
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
      } else {
        bytes.replace(at, random() % 12, kPieces[random() % std::size(kPieces)]);
      }
    }
    std::ofstream(folder.path() + "/events.jsonl", std::ios::binary) << bytes;
    CHECK_NOTHROW(read_markup(page_of(folder.path())));
  }
}

TEST_CASE("a page of thousands of steps stays small") {
  const std::string page = page_of(make_run(5000, 700, 715));
  read_markup(page);
  CHECK(page.size() < 500'000);
}

TEST_CASE("the subcommand says what it wrote") {
  const TemporaryFolder folder;
  make_run(30, 10, 15).write(folder.path());
  CHECK(tool::report({folder.path()}) == 0);
  CHECK(std::filesystem::exists(folder.path() + "/report.html"));
  CHECK(tool::report({folder.path(), "-o", folder.path() + "/other.html"}) == 0);
  CHECK(read_file(folder.path() + "/report.html") == read_file(folder.path() + "/other.html"));
  CHECK(tool::report({}) == 2);
  CHECK(tool::report({folder.path(), "-o"}) == 2);
  CHECK(tool::report({folder.path(), "-p", "x"}) == 2);
  CHECK_THROWS_WITH_AS(tool::report({folder.path() + "/none"}), doctest::Contains("no folder"), IoError);
}

}  // namespace
}  // namespace resilin
