// tests/base/config_test.cpp -- the table of knobs.
#include "resilin/base/config.h"

#include <cstdlib>
#include <set>

#include <doctest/doctest.h>

#include "tests/support/child.h"

namespace resilin::config {
namespace {

using testing::run_in_child;

TEST_CASE("every knob has a unique name, an environment variable, a sentence and a default it takes") {
  std::set<std::string_view> names;
  for (const Knob* knob : knobs()) {
    CAPTURE(knob->row().name);
    CHECK(names.insert(knob->row().name).second);
    CHECK(knob->row().doc.size() > 10);
    CHECK(knob->row().doc.back() == '.');
    CHECK(knob->environment().starts_with("RESILIN_"));
    CHECK(&config::knob(knob->row().name) == knob);
  }
  CHECK(knob("cache.dir").environment() == "RESILIN_CACHE_DIR");
  CHECK(knob("runtime.spin_us").environment() == "RESILIN_RUNTIME_SPIN_US");
}

TEST_CASE("a scope sets a knob and puts its value back") {
  const i64 before = integer("runtime.spin_us");
  const std::uint64_t generation = knob("runtime.spin_us").generation();
  {
    const ScopedConfig outer("runtime.spin_us", "7");
    CHECK(integer("runtime.spin_us") == 7);
    {
      const ScopedConfig inner("runtime.spin_us", "8");
      CHECK(integer("runtime.spin_us") == 8);
    }
    CHECK(integer("runtime.spin_us") == 7);
    CHECK(knob("runtime.spin_us").generation() > generation);
  }
  CHECK(integer("runtime.spin_us") == before);
}

TEST_CASE("set gives back the value before") {
  const std::string before = set("log.level", "info");
  CHECK(text("log.level") == "info");
  CHECK(integer("log.level") == 2);
  CHECK(set("log.level", before) == "info");
}

TEST_CASE("an unknown knob is refused with the nearest name") {
  CHECK_THROWS_WITH_AS(integer("runtime.thread"), "config: unknown knob: \"runtime.thread\"; did you mean runtime.threads?", ArgumentError);
  CHECK_THROWS_WITH_AS(text("cach.dir"), "config: unknown knob: \"cach.dir\"; did you mean cache.dir?", ArgumentError);
}

TEST_CASE("a value outside the row is refused and changes nothing") {
  CHECK_THROWS_WITH_AS(set("codegen.target", "sse"), "config: codegen.target does not take \"sse\"; it takes auto|avx2|avx512",
                       ArgumentError);
  CHECK_THROWS_WITH_AS(set("runtime.threads", "-1"), "config: runtime.threads does not take \"-1\"; it takes 0..1024", ArgumentError);
  CHECK_THROWS_AS(set("runtime.threads", "two"), ArgumentError);
  CHECK_THROWS_AS(set("cache.enabled", "maybe"), ArgumentError);
  CHECK_THROWS_AS(set("show", "graph,plans"), ArgumentError);
  CHECK_THROWS_AS(integer("cache.dir"), ArgumentError);
  CHECK_THROWS_AS(flag("runtime.threads"), ArgumentError);
  CHECK(flag("cache.enabled"));
  CHECK(text("codegen.target") == "auto");
}

TEST_CASE("a list of words knows which it holds") {
  const ScopedConfig scope("show", "plan,asm");
  const Knob& show = knob("show");
  CHECK(show.has("plan"));
  CHECK(show.has("asm"));
  CHECK_FALSE(show.has("graph"));
  CHECK_THROWS_AS(show.has("plans"), ArgumentError);
}

TEST_CASE("an empty text knob means its default place") {
  const ScopedConfig scope("cache.dir", "");
  const int status = run_in_child([] {
    setenv("XDG_CACHE_HOME", "/x", 1);
    if (text("cache.dir") != "/x/resilin") return 1;
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/h", 1);
    if (text("cache.dir") != "/h/.cache/resilin") return 2;
    set("cache.dir", "/elsewhere");
    return text("cache.dir") == "/elsewhere" ? 0 : 3;
  });
  CHECK(status == 0);
  CHECK(text("cache.pack").ends_with("/resilin.pack"));
}

TEST_CASE("a knob takes its value from the environment") {
  const int status = run_in_child([] {
    const KnobRow row{"test.count", KnobKind::Integer, "1", "0..9", "A test.", nullptr};
    if (Knob(row).integer() != 1) return 1;
    setenv("RESILIN_TEST_COUNT", "5", 1);
    if (Knob(row).integer() != 5) return 2;
    setenv("RESILIN_TEST_COUNT", "50", 1);
    try {
      Knob refused(row);
    } catch (const ArgumentError& error) {
      return std::string(error.what()).find("RESILIN_TEST_COUNT") != std::string::npos ? 0 : 3;
    }
    return 4;
  });
  CHECK(status == 0);
}

}  // namespace
}  // namespace resilin::config
