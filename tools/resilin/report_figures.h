// tools/resilin/report_figures.h -- the figures of a report, each drawn for a width.
#pragma once

#include <string>

#include "tools/resilin/report_story.h"

namespace resilin::tool {

/// The form of a figure: a wide one for screens, a narrow one for phones, of which the page shows one.
struct FigureSize {
  const char* form;  // "wide" or "narrow"
  double width;
};
inline constexpr FigureSize kFigureSizes[] = {{"wide", 980}, {"narrow", 380}};

// Each gives back one SVG element.
std::string draw_loss_by_step(const Story& story, const FigureSize& size);
std::string draw_loss_by_time(const Story& story, const FigureSize& size);
std::string draw_throughput(const Story& story, const FigureSize& size);
std::string draw_world(const Story& story, const FigureSize& size);
std::string draw_lanes(const Story& story, const FigureSize& size);
/// From five steps before a kill to ten after it.
std::string draw_lanes_around(const Story& story, std::size_t kill, const FigureSize& size);
std::string draw_recoveries(const Story& story, const FigureSize& size);
std::string draw_goodput(const Story& story, const FigureSize& size);

/// The most kills whose lanes are drawn enlarged.
inline constexpr std::size_t kMostZooms = 6;
/// The most ranks that get a lane, and bars.
inline constexpr std::size_t kMostLanes = 32;

}  // namespace resilin::tool
