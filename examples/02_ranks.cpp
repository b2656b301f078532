// examples/02_ranks.cpp -- ranks that sum a tensor, and go on when one of them dies.
#include <csignal>
#include <iostream>

#include "resilin/resilin.h"

using namespace resilin;

int main() {
  dist::ProcessGroup group = dist::init_process_group({.membership = dist::Membership::Lineage});
  if (group.rank() == 1) std::raise(SIGKILL);
  for (std::uint64_t known = group.generation();; known = group.await_generation(known, std::chrono::seconds(20)).generation) {
    try {
      const Tensor x = full({2}, group.rank() + 1.0F);
      group.all_reduce(x).wait();
      if (group.rank() == 0) std::cout << group.size() << " ranks: " << x << std::endl;
      return 0;
    } catch (const DistError&) {
      // Somebody is gone: the next generation is whoever is left.
    }
  }
}
