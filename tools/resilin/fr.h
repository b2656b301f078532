// tools/resilin/fr.h -- `resilin fr`: prints and analyzes what ranks recorded.
#pragma once

#include <string>
#include <vector>

namespace resilin::tool {

/// fr print DIR [--json|--torch] and fr analyze DIR [--json]. Gives back 0; of analyze, 3 when a culprit was found; 2 for wrong arguments.
int fr(const std::vector<std::string>& arguments);

}  // namespace resilin::tool
