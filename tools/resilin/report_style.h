// tools/resilin/report_style.h -- the looks of a report: its style sheet, and the few lines that tell values under the pointer.
#pragma once

#include <string_view>

namespace resilin::tool {

/// Goes between <style> and </style>. Light and dark; colours of Okabe and Ito, which colour-blind people tell apart.
extern const std::string_view kReportStyle;
/// Goes between <script> and </script>; has neither & nor <.
extern const std::string_view kReportScript;

}  // namespace resilin::tool
