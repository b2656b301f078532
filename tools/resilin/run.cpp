// tools/resilin/run.cpp -- `resilin run` and `resilin agent`.
#include "tools/resilin/run.h"

#include <cstdio>

#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/dist/launch/run.h"
#include "resilin/dist/launch/watch.h"

namespace resilin::tool {
namespace {

/// Arguments that are wrong are the user's to mend: 2, as of other commands.
template <class Body>
int with_usage_errors(const Body& body) {
  try {
    return body();
  } catch (const ArgumentError& error) {
    std::fprintf(stderr, "resilin: %s\n", error.what());
  } catch (const UnsupportedError& error) {
    std::fprintf(stderr, "resilin: %s\n", error.what());
  }
  return 2;
}

}  // namespace

int run(const std::vector<std::string>& arguments) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) variables.emplace_back(*variable);
  return with_usage_errors([&] { return dist::run_job(arguments, variables); });
}

int agent(const std::vector<std::string>& arguments) {
  return with_usage_errors([&] { return dist::watch_job(arguments); });
}

}  // namespace resilin::tool
