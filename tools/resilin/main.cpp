// tools/resilin/main.cpp -- the program `resilin`: run, agent, fr, ledger, report, train, tour.
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "tools/resilin/demo.h"
#include "tools/resilin/fr.h"
#include "tools/resilin/ledger.h"
#include "tools/resilin/report.h"
#include "tools/resilin/run.h"
#include "tools/resilin/tour.h"
#include "tools/resilin/train.h"

namespace {

int usage() {
  std::fputs(
      "usage: resilin run [FLAGS] PROGRAM ...      starts and watches the ranks of a job; resilin run --help lists the flags\n"
      "       resilin agent [FLAGS]                watches ranks that srun, mpirun or a script starts\n"
      "       resilin demo CONFIG.toml [FLAGS]     trains with several ranks, kills one, and accounts for every step and sample\n"
      "       resilin fr print|analyze DIR         what the ranks of a job recorded, and which of them caused what\n"
      "       resilin ledger verify RUN            proves that no step and no sample of a run was lost or done twice\n"
      "       resilin report RUN [-o FILE]         one page about a run: loss, throughput, recoveries, what each rank did when\n"
      "       resilin train CONFIG.toml [KEY=VALUE]...  a GPT that learns the bytes of a text; resilin train --help lists the keys\n"
      "       resilin tour                         a tour of tensors, with the kernels that ran\n",
      stderr);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  try {
    const std::string_view command = argv[1];
    if (command == "agent") return resilin::tool::agent(std::vector<std::string>(argv + 2, argv + argc));
    if (command == "demo") return resilin::tool::demo(std::vector<std::string>(argv + 2, argv + argc));
    if (command == "fr") return resilin::tool::fr(std::vector<std::string>(argv + 2, argv + argc));
    if (command == "ledger") return resilin::tool::ledger(std::vector<std::string>(argv + 2, argv + argc));
    if (command == "report") return resilin::tool::report(std::vector<std::string>(argv + 2, argv + argc));
    if (command == "run") return resilin::tool::run(std::vector<std::string>(argv + 2, argv + argc));
    if (command == "train") return resilin::tool::train(std::vector<std::string>(argv + 2, argv + argc));
    if (command == "tour" && argc == 2) return resilin::tool::tour();
    return usage();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "resilin: %s\n", error.what());
    return 1;
  }
}
