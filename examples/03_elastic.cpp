// examples/03_elastic.cpp -- training that goes on when a rank dies: a line is fitted by three ranks, one of which is killed.
#include <csignal>
#include <iostream>

#include "resilin/resilin.h"

using namespace resilin;

int main() {
  Tensor slope = requires_grad_(zeros({1})), shift = requires_grad_(zeros({1}));
  optim::SGD optimizer({slope, shift}, {.lr = 0.1});
  parallel::StepState state;  // all that training changes
  state.add("slope", slope);
  state.add("shift", shift);
  state.add_optimizer(optimizer);
  parallel::Elastic elastic(state, {slope, shift}, {.slots = 6});
  elastic.join(dist::init_process_group({.membership = dist::Membership::Lineage, .changes = elastic.changes()}));

  while (!elastic.is_healed() || elastic.next_step() < 60) {
    const auto run_slot = [&](const parallel::Slot& slot) {
      if (slot.step == 20 && elastic.group().rank() == 1 && elastic.group().size() == 3) std::raise(SIGKILL);
      const Tensor x = rand({16, 1}) * 2 - 1;  // the same for this step and slot, whoever computes them
      const Tensor loss = sum(pow(x * slope + shift - (x * 3 - 1), 2));
      backward(loss);
      return parallel::SlotResult{.loss = loss.item<double>(), .samples = 16};
    };
    const parallel::StepReport report = elastic.step(run_slot, [&](const parallel::Applied&) { optimizer.step(); });
    if (report.rank == 0 && report.step % 20 == 19)
      std::cout << "step " << report.step << ", " << report.world << " ranks: slope " << slope << ", shift " << shift << std::endl;
  }
  elastic.leave();
}
