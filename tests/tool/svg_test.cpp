// tests/tool/svg_test.cpp -- ticks are round, thinning keeps extremes, text is escaped and cut between characters.
#include "tools/resilin/svg.h"

#include <cmath>
#include <limits>

#include <doctest/doctest.h>

#include "tools/resilin/number_text.h"

namespace resilin {
namespace {

TEST_CASE("ticks are round and within their range") {
  CHECK(tool::round_ticks(0, 40, 11).at == std::vector<double>{0, 5, 10, 15, 20, 25, 30, 35, 40});
  CHECK(tool::round_ticks(1.37, 5.6, 7).at == std::vector<double>{2, 3, 4, 5});
  CHECK(tool::round_ticks(-520, 1480, 5).at == std::vector<double>{-500, 0, 500, 1000});
  const tool::Ticks small = tool::round_ticks(0, 0.011, 6);
  CHECK(small.decimals == 3);
  CHECK(small.at.size() == 3);
  CHECK(tool::round_ticks(0, 3, 11, /*integers=*/true).at == std::vector<double>{0, 1, 2, 3});
  CHECK(tool::round_ticks(1, 1, 5).at.empty());
  CHECK(tool::round_ticks(0, std::numeric_limits<double>::infinity(), 5).at.empty());
  for (const double high : {1e-9, 0.3, 7.0, 99.0, 12345.0, 1e15}) {
    for (const int most : {3, 6, 11}) CHECK(static_cast<int>(tool::round_ticks(0, high, most).at.size()) <= most);
  }
}

TEST_CASE("thinning keeps the lowest and highest of each pixel, in order") {
  std::vector<tool::Point> points;
  for (int i = 0; i < 10'000; ++i) points.push_back({i / 100.0, std::sin(i * 0.7)});
  points[4321].y = 9;
  points[5678].y = -9;
  const std::vector<tool::Point> kept = tool::thinned(points);
  CHECK(kept.size() <= 202);
  CHECK(kept.front().x == points.front().x);
  CHECK(kept.back().x == points.back().x);
  double low = 0, high = 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    low = std::min(low, kept[i].y), high = std::max(high, kept[i].y);
    if (i > 0) CHECK(kept[i].x > kept[i - 1].x);
  }
  CHECK(low == -9);
  CHECK(high == 9);
  CHECK(tool::thinned({{1, 2}}).size() == 1);
}

TEST_CASE("text is escaped and cut between characters") {
  CHECK(tool::escape("a<b>&\"'") == "a&lt;b&gt;&amp;&quot;&#39;");
  CHECK(tool::escape(std::string("x\0y\x1bz\n", 6)) == "x y z\n");
  CHECK(tool::escape("aéé", 4) == "aé…");
  CHECK(tool::escape("abc", 3) == "abc");
}

TEST_CASE("numbers are written as people read them") {
  CHECK(tool::grouped(0) == "0");
  CHECK(tool::grouped(-1234567) == "-1,234,567");
  CHECK(tool::fixed(38400.26, 1) == "38,400.3");
  CHECK(tool::fixed(-0.0, 1) == "0.0");
  CHECK(tool::fixed(1e300, 2) == "1e+300");
  CHECK(tool::fixed(std::numeric_limits<double>::quiet_NaN(), 2) == "not a number");
  CHECK(tool::px(12.04) == "12");
  CHECK(tool::px(-0.01) == "0");
  CHECK(tool::px(std::numeric_limits<double>::infinity()) == "0");
}

TEST_CASE("a scale of one value still has a width") {
  const tool::Scale scale(5, 5, 0, 100);
  CHECK(std::isfinite(scale.at(5)));
  CHECK(tool::Scale(0, 10, 100, 0).at(10) == 0);
  CHECK(tool::Scale(0, 10, 100, 0).value_at(50) == 5);
}

}  // namespace
}  // namespace resilin
