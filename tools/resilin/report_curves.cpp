// tools/resilin/report_curves.cpp -- the curves of a report: loss, throughput and the size of the world.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/resilin/number_text.h"
#include "tools/resilin/report_figures.h"
#include "tools/resilin/report_plot.h"

namespace resilin::tool {
namespace {

constexpr std::size_t kFewForMean = 40;

/// The mean over a window around each point.
std::vector<Point> running_mean(const std::vector<Point>& points, std::size_t window) {
  std::vector<Point> means;
  for (std::size_t i = 0; i < points.size(); ++i) {
    // As far to the left as to the right, so that the ends are not dragged.
    const std::size_t reach = std::min({window / 2, i, points.size() - 1 - i});
    double sum = 0;
    for (std::size_t k = i - reach; k <= i + reach; ++k) sum += points[k].y;
    means.push_back({points[i].x, sum / static_cast<double>(2 * reach + 1)});
  }
  return means;
}

std::size_t mean_window(std::size_t count) { return count < kFewForMean ? 1 : std::clamp<std::size_t>(count / 40, 5, 101) | 1; }

std::vector<Point> losses(const Story& story, Across across) {
  std::vector<Point> points;
  for (const CommitEvent& commit : story.run.commits) {
    if (!std::isnan(commit.loss)) points.push_back({across == Across::Steps ? static_cast<double>(commit.step) : commit.t_s, commit.loss});
  }
  std::sort(points.begin(), points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return points;
}

/// The bigram entropy as a line, the loss on held-out text as a point.
void draw_references(Svg& svg, const Plot& plot, const Story& story, Across across) {
  const double entropy = story.run.bigram_entropy, held_out = story.run.held_out_loss;
  const double right = plot.x().to();
  if (!std::isnan(entropy)) {
    svg.line({plot.x().from(), plot.y().at(entropy)}, {right, plot.y().at(entropy)}, "reference");
    svg.text({right, plot.y().at(entropy) - 7}, cat("bigram entropy ", fixed(entropy, 3)), "note halo", "end");
  }
  if (std::isnan(held_out)) return;
  const double x = across == Across::Steps ? plot.x().at(static_cast<double>(story.run.held_out_step)) : right;
  const double y = plot.y().at(held_out);
  svg.add(cat("<path class=\"held\" d=\"M", px(x), " ", px(y - 6), "l6 6l-6 6l-6-6Z\"/>"));
  svg.text({x - 10, y + 20}, cat("held out ", fixed(held_out, 3)), "note halo", "end");
}

std::string draw_loss(const Story& story, const FigureSize& size, Across across, const char* id, const char* title) {
  Svg svg(id, size.form, size.width);
  const std::vector<Point> points = losses(story, across);
  if (points.empty()) return empty_drawing(svg, title, "There are no commits with a loss.");
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const Point& point : points) low = std::min(low, point.y), high = std::max(high, point.y);
  for (const double also : {story.run.bigram_entropy, story.run.held_out_loss}) {
    if (!std::isnan(also)) low = std::min(low, also), high = std::max(high, also);
  }
  const double margin = std::max((high - low) * 0.1, 1e-3);
  const std::size_t window = mean_window(points.size());
  std::vector<LegendEntry> legend;
  if (window > 1) legend = {line_entry("curve raw", "each step"), line_entry("curve", cat("mean of ", window, " steps"))};
  Plot plot(svg, story, {.across = across, .y_label = "loss, nats per token", .y_low = low - margin, .y_high = high + margin / 2}, legend);
  plot.draw_frame();
  const char* words = across == Across::Steps ? "step {x}: loss {y}" : "{x}: loss {y}";
  plot.draw_curve(points, window > 1 ? "curve raw" : "curve", words, 3);
  if (window > 1) plot.draw_line(running_mean(points, window), "curve");
  draw_references(svg, plot, story, across);
  const std::string description =
      cat("The loss goes from ", fixed(points.front().y, 3), " to ", fixed(points.back().y, 3), " in ", points.size(), " steps.");
  return svg.finish(plot.height(), title, description);
}

}  // namespace

std::string draw_loss_by_step(const Story& story, const FigureSize& size) {
  return draw_loss(story, size, Across::Steps, "loss-by-step", "Loss by step");
}

std::string draw_loss_by_time(const Story& story, const FigureSize& size) {
  return draw_loss(story, size, Across::Time, "loss-by-time", "Loss by time");
}

std::string draw_throughput(const Story& story, const FigureSize& size) {
  Svg svg("throughput", size.form, size.width);
  std::vector<Point> points;
  double high = 0;
  for (const CommitEvent& commit : story.run.commits) {
    if (std::isnan(commit.tokens_per_s)) continue;
    points.push_back({commit.t_s, commit.tokens_per_s});
    high = std::max(high, commit.tokens_per_s);
  }
  if (points.empty()) return empty_drawing(svg, "Throughput", "There are no commits with a throughput.");
  const std::size_t window = mean_window(points.size());
  std::vector<LegendEntry> legend;
  if (window > 1) legend = {line_entry("curve raw", "each step"), line_entry("curve", cat("mean of ", window, " steps"))};
  Plot plot(svg, story, {.y_label = "throughput, tokens/s", .y_low = 0, .y_high = high > 0 ? high * 1.06 : 1, .height = 200}, legend);
  plot.draw_frame();
  plot.draw_curve(points, window > 1 ? "curve raw" : "curve", "{x}: {y} tokens/s", 0);
  if (window > 1) plot.draw_line(running_mean(points, window), "curve");
  return svg.finish(plot.height(), "Throughput",
                    cat("The median in the full world is ", fixed(story.tokens_per_s, 0), " tokens per second."));
}

std::string draw_world(const Story& story, const FigureSize& size) {
  Svg svg("world", size.form, size.width);
  if (story.run.generations.empty()) return empty_drawing(svg, "World size", "There are no generations.");
  const double most = static_cast<double>(std::max<i64>(story.full_world, 1));
  Plot plot(svg, story, {.y_label = "world size, ranks", .y_low = 0, .y_high = most * 1.12, .height = 120, .y_integers = true});
  plot.draw_frame();
  std::vector<Point> corners;
  double before = 0;
  for (const GenerationEvent& generation : story.run.generations) {
    const double x = plot.x_of(generation.t_s), world = static_cast<double>(generation.world);
    if (!corners.empty()) corners.push_back({x, plot.y().at(before)});
    corners.push_back({x, plot.y().at(world)});
    before = world;
  }
  corners.push_back({plot.x().to(), plot.y().at(before)});
  std::vector<Point> area = corners;
  area.push_back({corners.back().x, plot.bottom()});
  area.push_back({corners.front().x, plot.bottom()});
  svg.polyline(area, "area");
  svg.polyline(corners, "curve");
  return svg.finish(plot.height(), "World size",
                    cat(story.run.generations.size(), " generations of at most ", story.full_world, " ranks."));
}

}  // namespace resilin::tool
