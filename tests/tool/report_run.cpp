// tests/tool/report_run.cpp -- a made-up training run, with the files that a real one leaves.
#include "tests/tool/report_run.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/tool/ledger_kit.h"

namespace resilin::testing {
namespace {

constexpr i64 kTokens = 6144;

/// Lines of events, at a clock that the caller sets.
class Script {
 public:
  explicit Script(MadeRun& run) : run_(run) {}

  void event(double t_s, const std::string& what, i64 rank, const std::string& rest) {
    run_.events.push_back(
        cat("{\"t_us\":", us(t_s), ",\"what\":\"", what, "\",\"rank\":", rank, ",\"life\":", rank == 2 ? life_ : 1, rest, "}"));
  }
  i64 us(double t_s) const { return run_.begin_us + static_cast<i64>(t_s * 1e6); }

  /// Every rank of `members` does the step; group rank 0 tells of the commit.
  void step(i64 number, double begin_s, double step_s, bool healing) {
    for (const i64 rank : members_) {
      const double late = 0.002 * noise_(random_);
      event(begin_s + step_s, "step", rank,
            cat(",\"generation\":", generation_, ",\"step\":", number, ",\"attempt\":0,\"begin_us\":", us(begin_s + 0.001 + late),
                ",\"end_us\":", us(begin_s + step_s - 0.001 + late), ",\"healing\":", healing && rank == 2));
    }
    const double done = static_cast<double>(number) / static_cast<double>(run_.steps);
    const double loss = 1.45 + 4.1 * std::exp(-9 * done) + 0.5 * std::exp(-2 * done) - 0.05 * done + 0.07 * (noise_(random_) - 0.5);
    event(begin_s + step_s, "commit", 0,
          cat(",\"generation\":", generation_, ",\"world\":", members_.size(), ",\"step\":", number, ",\"loss\":", loss,
              ",\"samples\":24,\"tokens_per_s\":", static_cast<double>(kTokens) / step_s, ",\"step_ms\":", step_s * 1e3,
              ",\"ft_ms\":", 0.5 + 0.2 * noise_(random_)));
  }
  void generation(double t_s, std::vector<i64> members, const std::string& cause, i64 step, double after_ms) {
    ++generation_;
    members_ = std::move(members);
    for (std::size_t place = 0; place < members_.size(); ++place) {
      event(t_s + 0.0004 * static_cast<double>(place), "generation", members_[place],
            cat(",\"generation\":", generation_, ",\"group_rank\":", place, ",\"world\":", members_.size(), ",\"cause\":\"", cause,
                "\",\"step\":", step, ",\"members\":", members_, ",\"after_ms\":", after_ms));
    }
  }
  double step_s() { return (members_.size() == 4 ? 0.094 : 0.121) + 0.012 * noise_(random_) * noise_(random_); }
  void next_life() { ++life_; }

 private:
  MadeRun& run_;
  std::mt19937_64 random_{7};
  std::uniform_real_distribution<double> noise_{0, 1};
  std::vector<i64> members_;
  i64 generation_ = 0;
  i64 life_ = 1;
};

void goodput(Script& script, i64 rank, double t_s, double all_s, double recover_s) {
  const double data_s = all_s * 0.021, checkpoint_s = all_s * 0.012, idle_s = all_s * 0.034;
  script.event(t_s, "goodput", rank,
               cat(",\"train_s\":", all_s - data_s - checkpoint_s - idle_s - recover_s, ",\"data_s\":", data_s,
                   ",\"checkpoint_s\":", checkpoint_s, ",\"recover_s\":", recover_s, ",\"idle_s\":", idle_s, ",\"ft_s\":", all_s * 0.006));
}

}  // namespace

MadeRun make_run(i64 steps, i64 kill_step, i64 join_step) {
  MadeRun run;
  run.steps = steps;
  run.kill_step = kill_step;
  run.join_step = join_step;
  Script script(run);
  for (i64 rank = 0; rank < 4; ++rank) script.event(0.01 * static_cast<double>(rank), "start", rank, cat(",\"pid\":", 1000 + rank));
  const std::string told =
      cat(",\"steps\":", steps, ",\"batch\":24,\"tokens_per_step\":", kTokens, ",\"parameters\":850000,\"first_step\":0");
  for (i64 rank = 0; rank < 4; ++rank) script.event(0.35, "run", rank, told);
  double now = 0.5;
  script.generation(now, {0, 1, 2, 3}, "first", 0, 0);
  for (i64 step = 0; step < steps; ++step) {
    if (step == kill_step) {
      run.kill_s = now + 0.04;
      run.shrink_s = run.kill_s + 0.052;
      run.respawn_s = run.kill_s + 0.11;
      script.event(run.kill_s, "kill", 2, cat(",\"signal\":9,\"step\":", step));
      script.event(run.kill_s + 0.003, "exit", 2, ",\"cause\":\"killed by SIGKILL\"");
      for (const i64 rank : {0, 1, 3})
        script.event(run.kill_s + 0.01, "lost", rank, cat(",\"generation\":1,\"step\":", step, ",\"error\":\"PeerError: rank 2\""));
      script.generation(run.shrink_s, {0, 1, 3}, "shrink", step, 41.2);
      script.next_life();
      script.event(run.respawn_s, "start", 2, ",\"pid\":2000");
      script.event(run.respawn_s + 0.4, "run", 2, told);
      now = run.shrink_s + 0.004;
    }
    if (step == join_step) {
      run.join_s = now + 0.018;
      script.generation(run.join_s, {0, 1, 2, 3}, "join", step, 0);
      script.event(run.join_s + 0.035, "heal", 2, cat(",\"generation\":3,\"step\":", step, ",\"bytes\":10200000,\"ms\":35.0"));
      now = run.join_s + 0.006;
    }
    const double step_s = step == join_step ? 0.142 : script.step_s();
    script.step(step, now, step_s, step == join_step);
    now += step_s;
    if (step == kill_step) run.next_commit_s = now;
    if (step > 0 && step % 100 == 0) now += 0.06;  // a checkpoint
  }
  for (const i64 rank : {0, 1, 3}) goodput(script, rank, now, now - 0.2, 0.052);
  goodput(script, 2, now, now - run.respawn_s, 0.035);
  script.event(now, "held_out", 0, cat(",\"step\":", steps, ",\"loss\":1.512,\"bigram_entropy\":2.257"));
  script.event(now, "sample", 0,
               ",\"text\":\"And the LORD said unto Moses, Speak unto the children of Israel, and say unto them, When ye be come into the "
               "land\\nwhich I give unto you, then shall ye bring the <firstfruits> of your harvest & the priest shall wave it.\"");
  for (i64 rank = 0; rank < 4; ++rank) script.event(now + 0.02, "leave", rank, cat(",\"step\":", steps));
  for (i64 rank = 0; rank < 4; ++rank) script.event(now + 0.05, "exit", rank, ",\"cause\":\"exit 0\"");
  run.end_s = now + 0.05;
  return run;
}

void MadeRun::write(const std::string& folder) const {
  std::filesystem::create_directories(folder);
  std::ofstream out(folder + "/events.jsonl", std::ios::binary);
  for (const std::string& line : events) out << line << "\n";
  LedgerJob job(1);
  job.generation({0, 1, 2, 3});
  job.steps(kill_step);
  job.kill_before_vote(2);
  job.generation({0, 1, 3});
  job.steps(join_step - kill_step);
  job.generation({0, 1, 2, 3});
  job.healing_step(2);
  job.steps(steps - join_step - 1);
  job.files().write(folder + "/ledger");
  std::ofstream(folder + "/result.json", std::ios::binary)
      << R"({"holds":true,"steps":400,"loss":{"held_out":1.512,"bigram_entropy":2.257},"text":"<b>bold & \"quoted\"</b>"})";
}

}  // namespace resilin::testing
