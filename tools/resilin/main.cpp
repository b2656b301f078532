// tools/resilin/main.cpp -- the program `resilin`: demo.
#include <cstdio>
#include <exception>
#include <string_view>

#include "tools/resilin/demo.h"

namespace {

int usage() {
  std::fputs("usage: resilin demo    a tour of tensors, with the kernels that ran\n", stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return usage();
  try {
    if (std::string_view(argv[1]) == "demo") return resilin::tool::demo();
    return usage();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "resilin: %s\n", error.what());
    return 1;
  }
}
