// bench/support/elastic_ranks.h -- what the ranks of bench_elastic do.
#pragma once

#include <string>

namespace resilin::bench {

/// A job of the demo's model and slots that protects its steps and does not, in turn: `pairs` times `steps` of each. Tells of each block, "block": whether it
/// was protected, seconds a step and how much of that was for protection; and of the parts of the protection by themselves, "part_try", "part_digest",
/// "part_exchange", "part_done": seconds.
void train_in_turn(const std::string& folder, int pairs, int steps);

/// The same job, in which ranks kill themselves in turn, `kills` times, each when all four have taken some steps together. Tells "kill" (generation), "aborted"
/// (generation), "installed" (generation, ranks), "commit" (generation, ranks, seconds of the step).
void train_with_kills(const std::string& folder, int kills);

/// Four ranks train a model of 100 MB of state; the last one kills itself `rounds` times, and comes back when the others have taken some steps without it. Tells
/// "installed" and "commit" as above; of the one that comes back "exec", "made" (its model is there), "joined" (it is in the group) and "yes", each with its
/// processor time so far, and "healed" (seconds).
void train_and_heal(const std::string& folder, int rounds);

/// Two ranks over TCP on the loopback that share no memory: one reads `bytes` bytes of the other, all at once and then 3 KiB at a time. Tells "get" (bytes a
/// second) and "get_one" (the same of single pieces).
void read_over_network(const std::string& folder, double bytes);

}  // namespace resilin::bench
