// tools/resilin/run.cpp -- `resilin run`: the launcher.
#include "tools/resilin/run.h"

#include <cstdio>

#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/dist/launch/run.h"

namespace resilin::tool {

int run(const std::vector<std::string>& arguments) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  try {
    return dist::run_job(arguments, variables);
  } catch (const ArgumentError& error) {
    std::fprintf(stderr, "resilin: %s\n", error.what());
    return 2;
  } catch (const UnsupportedError& error) {
    std::fprintf(stderr, "resilin: %s\n", error.what());
    return 2;
  }
}

}  // namespace resilin::tool
