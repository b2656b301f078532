// tests/tool/train_config_test.cpp -- the configuration of a training run: what is taken, and what every error says.
#include "tools/resilin/train_config.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <sys/stat.h>

#include <doctest/doctest.h>

#include "resilin/base/error.h"

#include "tests/support/temporary_folder.h"

#include "tools/resilin/train_keys.h"

namespace resilin::tool {
namespace {

TrainConfig parse(const std::string& text, const std::vector<std::string>& words = {}) { return parse_train_config(text, "a.toml", words); }

/// The message, or that there is none; other errors fail the test.
std::string error_of(const std::string& text, const std::vector<std::string>& words = {}) {
  try {
    parse(text, words);
  } catch (const ArgumentError& error) {
    return error.what();
  }
  return "no error";
}

const std::string kLeast = "[data]\ntext = \"t.txt\"\n";

TEST_CASE("all that a file does not say has its default") {
  const TrainConfig c = parse(kLeast);
  CHECK(c.data.text == "t.txt");
  CHECK(c.data.held_out == 0.05);
  CHECK(c.model.layers == 4);
  CHECK(c.model.heads == 4);
  CHECK(c.model.width == 128);
  CHECK(c.model.length == 64);
  CHECK(c.train.steps == 2000);
  CHECK(c.train.slots == 12);
  CHECK(c.train.slot_batch == 1);
  CHECK(c.train.lr == 3e-3);
  CHECK(c.train.min_lr == doctest::Approx(3e-4));
  CHECK(c.train.warmup == 100);
  CHECK(c.train.beta2 == 0.99);
  CHECK(c.elastic.fault_tolerance);
  CHECK(c.checkpoint.resume == Resume::Auto);
  CHECK(c.run.progress == ProgressForm::Auto);
  CHECK(c.run.http_port == 0);
}

TEST_CASE("the least rate follows the rate, and the warm-up the steps, unless they are given") {
  CHECK(parse(kLeast + "[train]\nlr = 1.0").train.min_lr == 0.1);
  CHECK(parse(kLeast + "[train]\nlr = 1\nmin_lr = 0.5").train.min_lr == 0.5);
  CHECK(parse(kLeast + "[train]\nsteps = 50").train.warmup == 6);
  CHECK(parse(kLeast + "[train]\nsteps = 50\nwarmup = 0").train.warmup == 0);
}

/// A value that is not the default, as TOML.
std::string other_value(const TrainKey& key) {
  TrainConfig config;
  const KeyPlace place = key.place(config);
  if (std::holds_alternative<bool*>(place)) return "false";
  if (std::holds_alternative<Resume*>(place)) return "\"must\"";
  if (std::holds_alternative<ProgressForm*>(place)) return "\"off\"";
  if (std::holds_alternative<std::string*>(place)) return "\"other\"";
  if (std::holds_alternative<i64*>(place)) return key.name == "model.width" ? "256" : "2";
  return key.name == "train.min_lr" ? "0.001" : "0.5";
}

TEST_CASE("every key of the table is read from the file and from the command line into its own member") {
  for (const TrainKey& key : train_keys()) {
    CAPTURE(key.name);
    const std::string value = other_value(key);
    const std::string line = cat(key.name, " = ", value, "\n");
    TrainConfig from_file = parse(key.name == "data.text" ? line : "data.text = \"t.txt\"\n" + line);
    TrainConfig from_words = parse(kLeast, {cat(key.name, "=", value)});
    TrainConfig plain = parse(kLeast);
    for (const TrainKey& other : train_keys()) {
      CAPTURE(other.name);
      // What follows from a key where it is not given changes with it.
      if (key.name == "train.lr" && other.name == "train.min_lr") continue;
      if (key.name == "train.steps" && other.name == "train.warmup") continue;
      const auto equal = [&](TrainConfig& a, TrainConfig& b) {
        return std::visit([&](auto* place) { return *place == *std::get<decltype(place)>(other.place(b)); }, other.place(a));
      };
      CHECK(equal(from_file, from_words));
      CHECK(equal(from_file, plain) == (key.name != other.name));
    }
  }
}

TEST_CASE("words of the command line replace the file's keys, and the last word holds") {
  const TrainConfig c =
      parse(kLeast + "[train]\nsteps = 10\n", {"train.steps=20", "train.steps=30", "run.progress=plain", "checkpoint.resume=\"must\""});
  CHECK(c.train.steps == 30);
  CHECK(c.run.progress == ProgressForm::Plain);
  CHECK(c.checkpoint.resume == Resume::Must);
}

TEST_CASE("a word that is no TOML is a text, and a path need not be quoted") {
  CHECK(parse(kLeast, {"data.text=/a b/c.txt"}).data.text == "/a b/c.txt");
  CHECK(parse(kLeast, {"data.text=2024"}).data.text == "2024");
  CHECK(parse(kLeast, {"data.text='quoted'"}).data.text == "quoted");
  CHECK(parse(kLeast, {"data.text=a=b"}).data.text == "a=b");
  // It is one value, whatever lines are in it.
  CHECK(parse(kLeast, {"data.text=1\nother = 2"}).data.text == "1\nother = 2");
  CHECK(error_of(kLeast, {"train.steps=1\n[model]"}) ==
        "command line: train.steps is \"1\\x0a[model]\"; it must be an integer from 1 to 1000000000000");
}

TEST_CASE("an unknown key is told with its line and the nearest known one") {
  CHECK(error_of(kLeast + "[model]\nlayrs = 4") == "a.toml:4: unknown key: model.layrs; did you mean model.layers?");
  CHECK(error_of("layers = 4") == "a.toml:1: unknown key: layers; did you mean model.layers?");
  CHECK(error_of("\n[modle]\nlayers = 4") == "a.toml:2: unknown key: modle; did you mean model?");
  CHECK(error_of(kLeast + "[train.more]\nx = 1") == "a.toml:3: unknown key: train.more; did you mean train.lr?");
  CHECK(error_of(kLeast, {"train.stpes=3"}) == "command line: unknown key: train.stpes; did you mean train.steps?");
  CHECK(error_of(kLeast, {"steps=3"}) == "command line: unknown key: steps; did you mean train.steps?");
  CHECK(error_of("\"model.layers\" = 3") == "a.toml:1: unknown key: model.layers; did you mean model.layers?");
}

TEST_CASE("a value of another type or out of its range is told with file, line, key, value and what must hold") {
  CHECK(error_of(kLeast + "[model]\nlayers = 0") == "a.toml:4: model.layers is 0; it must be an integer from 1 to 1024");
  CHECK(error_of(kLeast + "[model]\nlayers = \"4\"") == "a.toml:4: model.layers is \"4\"; it must be an integer from 1 to 1024");
  CHECK(error_of(kLeast + "model.layers = 4.0") == "a.toml:3: unknown key: data.model; did you mean data.text?");
  CHECK(error_of("model.layers = 4.0\n") == "a.toml:1: model.layers is 4; it must be an integer from 1 to 1024");
  CHECK(error_of("data.held_out = 1") == "a.toml:1: data.held_out is 1; it must be a number above 0 and below 1");
  CHECK(error_of("train.lr = nan") == "a.toml:1: train.lr is nan; it must be a number above 0 and at most 100");
  CHECK(error_of("train.lr = inf") == "a.toml:1: train.lr is inf; it must be a number above 0 and at most 100");
  CHECK(error_of("train.lr = 1979-05-27") == "a.toml:1: train.lr is a date or time; it must be a number above 0 and at most 100");
  CHECK(error_of("train.lr = [1]") == "a.toml:1: train.lr is an array; it must be a number above 0 and at most 100");
  CHECK(error_of("train = 1") == "a.toml:1: train is a table of keys, but is 1; write train.KEY = VALUE");
  CHECK(error_of("elastic.fault_tolerance = 1") == "a.toml:1: elastic.fault_tolerance is 1; it must be true or false");
  CHECK(error_of("checkpoint.resume = \"maybe\"") == "a.toml:1: checkpoint.resume is \"maybe\"; it must be auto, never or must");
  CHECK(error_of("data.text = \"\"") == "a.toml:1: data.text is \"\"; it must be a text that is not empty");
  CHECK(error_of("data.text = \"a\\u0000b\"") == "a.toml:1: data.text is \"a\\x00b\"; it must be a text that is not empty");
  CHECK(error_of("run.http_port = 65536") == "a.toml:1: run.http_port is 65536; it must be an integer from 0 to 65535");
  CHECK(error_of(kLeast, {"model.layers=many"}) == "command line: model.layers is \"many\"; it must be an integer from 1 to 1024");
}

TEST_CASE("keys that do not fit each other are told with the place of one of them") {
  CHECK(error_of(kLeast + "[model]\nwidth = 130") ==
        "a.toml:4: model.width is no multiple of model.heads: 130 and 4; each head has an equal part of the width");
  CHECK(error_of(kLeast, {"model.heads=3"}) ==
        "command line: model.width is no multiple of model.heads: 128 and 3; each head has an equal part of the width");
  CHECK(error_of(kLeast + "[train]\nmin_lr = 1") ==
        "a.toml:4: train.min_lr is above train.lr: 1 and 0.003; the rate falls from lr to min_lr");
  CHECK(error_of("[model]\nlayers = 2") == "a.toml: data.text is not given; it names the file to learn");
}

TEST_CASE("a text that is no TOML is told with its line") {
  CHECK(error_of("[data]\ntext = \n").starts_with("a.toml:2: no TOML: "));
  CHECK(error_of("[.a]") == "a.toml: no TOML: the parser cannot say what is wrong; look for a table or key whose name is empty");
  CHECK(error_of(kLeast, {"train.steps=1\n[.a]"}).starts_with("command line: train.steps is \"1\\x0a[.a]\""));
  CHECK(error_of("[data\n").starts_with("a.toml:1: no TOML: "));
  CHECK(error_of("train.steps = 1\ntrain.steps = 2\n").starts_with("a.toml:2: no TOML: "));
  CHECK(error_of("train.steps = 99999999999999999999").starts_with("a.toml:1: no TOML: "));
  CHECK(error_of("x = \"\xff\xfe\"").starts_with("a.toml:1: no TOML: "));
  CHECK(error_of(std::string("x = 1\n\0y", 8)).starts_with("a.toml:2: no TOML: "));
}

TEST_CASE("hostile texts end in an error that names nothing a terminal would obey") {
  const std::string deep(7000, '[');
  std::string dotted = "a";
  for (int i = 0; i < 8000; ++i) dotted += ".a";
  std::string both;
  while (both.size() < 15000) both += "a" + std::string(".a") + ".a = [\n{";
  for (const std::string& text : {"x = " + deep, dotted + " = 1", "[" + dotted + "]", "model." + dotted.substr(0, 15000) + " = 1", both,
                                  std::string(20000, 'a'), std::string("\"\\u001b[2J\" = 1"), "model = {layers = {}}" + std::string()}) {
    const std::string error = error_of(text);
    CAPTURE(text.substr(0, 40));
    CHECK(error.starts_with("a.toml"));
    CHECK(error.size() < 400);
    CHECK(std::ranges::none_of(error, [](char c) { return static_cast<unsigned char>(c) < 0x20; }));
  }
  CHECK(error_of(kLeast, {"train.steps=" + deep}).starts_with("command line: train.steps is \"[[[["));
  CHECK(error_of(kLeast, {"train.steps=" + std::string(20000, '1')}).starts_with("command line: a value of 20000 bytes"));
  CHECK(error_of(kLeast, {"\x1b[2J=1"}).starts_with("command line: unknown key: \\x1b[2J; did you mean "));
}

TEST_CASE("no text of bytes is taken for a config or ends the process") {
  std::mt19937 random(7);
  const std::string good = kLeast + "[train]\nsteps = 50\nlr = 1e-3\n[run]\nout = \"x\"\n";
  constexpr std::string_view kBytes =
      "[]{}=.\"'#,\n\\ \0\xff"
      "09eE+-:Tax";
  for (int i = 0; i < 3000; ++i) {
    std::string text = good;
    for (int change = 0; change < 3; ++change) text[random() % text.size()] = kBytes[random() % kBytes.size()];
    const std::string error = error_of(text);  // another error than ArgumentError leaves this function
    CHECK((error == "no error" || error.starts_with("a.toml")));
  }
}

TEST_CASE("the arguments of resilin train") {
  const testing::TemporaryFolder folder;
  const std::string path = folder.path() + "/a.toml";
  std::ofstream(path) << kLeast;
  const auto read = [](const std::vector<std::string>& arguments) { return read_train_command(arguments); };
  CHECK(read({path, "--resume", "must", "train.steps=7"}).config.train.steps == 7);
  CHECK(read({"train.steps=7", path, "--resume=never"}).config.checkpoint.resume == Resume::Never);
  CHECK(read({"--resume", "must", path}).config.checkpoint.resume == Resume::Must);
  CHECK(read({"--help"}).help);
  CHECK_THROWS_WITH_AS(read({path, "--resume", "x"}), "command line: checkpoint.resume is \"x\"; it must be auto, never or must",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(read({path, "--resume"}), "command line: --resume has no value; auto, never or must is needed", ArgumentError);
  CHECK_THROWS_WITH_AS(read({path, "--resumes"}), "command line: unknown flag: --resumes; --resume and --help are known, and KEY=VALUE",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(read({path, "more"}), "command line: neither a flag nor KEY=VALUE: \"more\"; for example train.steps=100",
                       ArgumentError);
  CHECK_THROWS_AS(read({}), ArgumentError);
  CHECK_THROWS_AS(read({folder.path() + "/none"}), IoError);
  CHECK_THROWS_AS(read({folder.path()}), IoError);
  CHECK_THROWS_AS(read({"/dev/zero"}), ArgumentError);
}

TEST_CASE("help and page follow the table of keys") {
  std::ifstream file(RESILIN_SOURCE_DIR "/docs/train-config.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  REQUIRE(!page.empty());
  const std::string help = train_help();
  std::string table;
  for (const std::string& row : train_key_rows()) table += row + "\n";
  CHECK(page.find("|---|---|---|---|---|\n" + table + "\n") != std::string::npos);
  for (const TrainKey& key : train_keys()) {
    CHECK(help.find(cat("  ", key.name, " = ", key.initial(), "  ")) != std::string::npos);
    CHECK(help.find(key.doc) != std::string::npos);
  }
}

TEST_CASE("a default satisfies its own range") {
  for (const TrainKey& key : train_keys()) {
    TrainConfig config;
    CAPTURE(key.name);
    const KeyPlace place = key.place(config);
    if (const auto* const whole = std::get_if<i64*>(&place)) CHECK(key.range.holds(static_cast<double>(**whole)));
    if (const auto* const number = std::get_if<double*>(&place)) CHECK(key.range.holds(**number));
  }
}

}  // namespace
}  // namespace resilin::tool
