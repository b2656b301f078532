// tools/resilin/report_page.h -- the page of a report: header, figures, tables.
#pragma once

#include <string>

#include "tools/resilin/report_story.h"

namespace resilin::tool {

struct PageTexts {
  std::string name;         // of the run
  std::string result_json;  // the text of result.json; empty when there is none
};

/// One self-contained HTML page, well formed as XML too.
std::string report_page(const Story& story, const PageTexts& texts);

}  // namespace resilin::tool
