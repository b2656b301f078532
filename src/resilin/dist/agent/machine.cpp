// src/resilin/dist/agent/machine.cpp -- starts, deaths, evictions and the end of a job as an agent decides them.
#include "resilin/dist/agent/machine.h"

#include <algorithm>
#include <utility>

#include <signal.h>

#include "resilin/base/error.h"

namespace resilin::dist {
namespace {

constexpr std::size_t kRememberedSteps = 21;
constexpr Moment kUnknownStep = std::chrono::milliseconds(1);  // a step's length before one was seen
constexpr int kExitNotStarted = 127;                           // as a shell has it

i64 whole_milliseconds(Moment time) { return time / std::chrono::milliseconds(1); }

DetectorOptions detector_options(const AgentOptions& options) {
  DetectorOptions result;
  result.silent_ms = static_cast<std::uint64_t>(whole_milliseconds(options.heartbeat_timeout));
  result.stuck_ms = static_cast<std::uint64_t>(whole_milliseconds(options.stuck_timeout));
  return result;
}

}  // namespace

AgentMachine::AgentMachine(const AgentOptions& options)
    : options_(options),
      detector_(detector_options(options)),
      slots_(static_cast<std::size_t>(options.local_ranks)),
      fault_planned_(options.chaos.faults.size(), false) {
  for (i64 slot = 0; slot < options.local_ranks; ++slot) ranks_.push_back(options.first_rank + slot);
}

std::vector<AgentAction> AgentMachine::step(Moment now, const AgentEvent& event) {
  now_ = std::max(now_, now);
  actions_.clear();
  if (finished_) return {};
  std::visit([this](const auto& value) { on(value); }, event);
  strike();
  finish_when_over();
  return std::move(actions_);
}

std::optional<Moment> AgentMachine::deadline() const {
  if (finished_) return std::nullopt;
  std::optional<Moment> earliest;
  const auto consider = [&earliest](std::optional<Moment> moment) {
    if (moment && (!earliest || *moment < *earliest)) earliest = moment;
  };
  consider(incident_end_);
  consider(silence_check_);
  consider(kill_at_);
  for (const Strike& strike : strikes_) consider(strike.due);
  return earliest;
}

void AgentMachine::on(const Begin&) {
  for (i64 slot = 0; slot < options_.local_ranks; ++slot) spawn(slot);
}

/// Who takes the slot while its last life still has it waits until that one is gone.
void AgentMachine::on(const Adopt& event) {
  const SlotState state = slots_[static_cast<std::size_t>(event.slot)].state;
  if (state == SlotState::Running || state == SlotState::Evicted || stopping_) return;
  ranks_[static_cast<std::size_t>(event.slot)] = event.rank;
  begin_life(event.slot);
  publish(event.slot, RankState::Running, "adopted");
}

void AgentMachine::on(const Spawned& event) {
  if (living(event.slot, event.life) == nullptr) return;
  publish(event.slot, RankState::Running, event.life == 0 ? "started" : "started again");
}

void AgentMachine::on(const SpawnFailed& event) {
  Slot& slot = slots_[static_cast<std::size_t>(event.slot)];
  if (slot.state != SlotState::Running) return;
  ProcessEnd end;
  end.kind = ProcessEnd::Kind::Exited;
  end.code = kExitNotStarted;
  Death death;
  death.end = end;
  death.error = event.reason;
  die(event.slot, std::move(death));
}

void AgentMachine::on(const Exited& event) {
  Slot* slot = living(event.slot, event.life);
  if (slot == nullptr) return;
  if (event.end.succeeded() || slot->leaving) {
    slot->state = SlotState::Over;
    slot->succeeded = true;
    detector_.forget(static_cast<std::uint64_t>(event.slot));
    publish(event.slot, slot->leaving ? RankState::Left : RankState::Done, describe(event.end));
    return;
  }
  Death death;
  death.end = event.end;
  death.fault = slot->fault;
  death.evicted_for = slot->evicted_for;
  death.error = event.error;
  death.reported_other = event.reported_other;
  die(event.slot, std::move(death));
}

void AgentMachine::on(const Beat& event) {
  Slot* slot = living(event.slot, event.life);
  if (slot == nullptr || slot->state != SlotState::Running) return;
  if (!std::exchange(slot->beats, true)) detector_.watch(static_cast<std::uint64_t>(event.slot), now_ms());
  if (!silence_check_) silence_check_ = now_ + options_.heartbeat_timeout / 4;
  detector_.beat(static_cast<std::uint64_t>(event.slot), now_ms(), {event.step, event.sequence});
  slot->sequence = event.sequence;
  judge();
  slot->leaving = slot->leaving || event.leaving;
  if (event.step <= slot->step) return;
  if (slot->step >= 0) {
    slot->step_lengths.push_back((now_ - slot->step_began) / (event.step - slot->step));
    if (slot->step_lengths.size() > kRememberedSteps) slot->step_lengths.erase(slot->step_lengths.begin());
  }
  slot->step = event.step;
  slot->step_began = now_;
  plan_faults(event.slot);
}

void AgentMachine::on(const Evict& event) {
  Slot* slot = living(event.slot, event.life);
  if (slot == nullptr || slot->state != SlotState::Running || (event.spares_leaving && slot->leaving)) return;
  slot->state = SlotState::Evicted;
  detector_.forget(static_cast<std::uint64_t>(event.slot));
  slot->evicted_for = event.reason;
  publish(event.slot, RankState::Evicted, event.reason);
  actions_.push_back(SendSignal{event.slot, slot->life, SIGKILL});
}

void AgentMachine::on(const Stop& event) {
  if (stopping_) {
    kill_all();
    return;
  }
  exit_code_ = event.exit_code;
  actions_.push_back(Say{Say::Level::Warning, cat("the job ends: ", event.reason)});
  start_stopping(event.signal);
}

void AgentMachine::on(const Tick&) {
  if (silence_check_ && now_ >= *silence_check_) {
    silence_check_ = now_ + options_.heartbeat_timeout / 4;
    judge();
  }
  if (incident_end_ && now_ >= *incident_end_) close_incident();
  if (kill_at_ && now_ >= *kill_at_) kill_all();
}

/// The slot while this life of it runs or waits to be reaped.
AgentMachine::Slot* AgentMachine::living(i64 number, i64 life) {
  if (number < 0 || number >= options_.local_ranks) return nullptr;
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  const bool lives = slot.state == SlotState::Running || slot.state == SlotState::Evicted;
  return lives && slot.life == life ? &slot : nullptr;
}

void AgentMachine::spawn(i64 number) {
  begin_life(number);
  actions_.emplace_back(std::in_place_type<Spawn>, Spawn{number, slots_[static_cast<std::size_t>(number)].life});
}

void AgentMachine::begin_life(i64 number) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  Slot fresh;
  fresh.state = SlotState::Running;
  fresh.life = slot.life + 1;
  slot = std::move(fresh);
}

void AgentMachine::die(i64 number, Death death) {
  Slot& slot = slots_[static_cast<std::size_t>(number)];
  slot.state = SlotState::Over;
  detector_.forget(static_cast<std::uint64_t>(number));
  death.rank = rank_of(number);
  death.at = now_;
  publish(number, RankState::Dead, describe(death));
  if (stopping_) return;  // others end because they were told to
  if (!incident_end_) {
    incident_end_ = now_ + options_.gather;
    ++incidents_;
  }
  incident_.push_back(std::move(death));
  if (options_.policy == Policy::Shrink) {
    failing_ = failing_ || count(SlotState::Running) + succeeded() < options_.min_ranks;
  } else if (restarts_ < options_.max_restarts) {
    ++restarts_;
    spawn(number);
  } else {
    failing_ = true;
  }
}

/// The first cause is said when the evidence is in, not with the first message.
void AgentMachine::close_incident() {
  const std::vector<Death> deaths = std::exchange(incident_, {});
  incident_end_.reset();
  const std::size_t first = first_cause(deaths);
  std::string text = cat("incident ", incidents_, ": ", describe(deaths[first]));
  for (std::size_t i = 0; i < deaths.size(); ++i) {
    if (i == first) continue;
    const i64 after_ms = whole_milliseconds(deaths[i].at - deaths[first].at);
    text += cat("; ", describe(deaths[i]), after_ms >= 0 ? cat(" (", after_ms, " ms later)") : cat(" (", -after_ms, " ms earlier)"));
  }
  if (!failing_) {
    actions_.push_back(Say{Say::Level::Warning, text});
    return;
  }
  actions_.push_back(Say{Say::Level::Error, text});
  if (stopping_) return;
  exit_code_ = exit_code_of(deaths[first].end);
  actions_.push_back(Fail{describe(deaths[first])});
  start_stopping(SIGTERM);
}

void AgentMachine::start_stopping(int signal) {
  stopping_ = true;
  kill_at_ = now_ + options_.stop_grace;
  for (i64 slot = 0; slot < options_.local_ranks; ++slot) {
    const Slot& state = slots_[static_cast<std::size_t>(slot)];
    if (state.state != SlotState::Running) continue;
    actions_.push_back(SendSignal{slot, state.life, signal});
    actions_.push_back(SendSignal{slot, state.life, SIGCONT});  // a stopped process would not hear it
  }
}

void AgentMachine::kill_all() {
  kill_at_.reset();
  for (i64 slot = 0; slot < options_.local_ranks; ++slot) {
    const Slot& state = slots_[static_cast<std::size_t>(slot)];
    if (state.state == SlotState::Running) actions_.push_back(SendSignal{slot, state.life, SIGKILL});
  }
}

void AgentMachine::plan_faults(i64 number) {
  const Slot& slot = slots_[static_cast<std::size_t>(number)];
  for (std::size_t i = 0; i < options_.chaos.faults.size(); ++i) {
    const ChaosFault& fault = options_.chaos.faults[i];
    if (fault_planned_[i] || fault.rank != rank_of(number) || slot.step < fault.step) continue;
    fault_planned_[i] = true;
    const Moment due = now_ + options_.chaos.delay(i, median_step(slot));
    const bool kills = fault.kind == ChaosFault::Kind::Kill;
    strikes_.push_back({due, number, slot.life, kills ? SIGKILL : SIGSTOP, fault.text});
    if (!kills) strikes_.push_back({due + fault.pause, number, slot.life, SIGCONT, fault.text});
  }
}

void AgentMachine::strike() {
  const std::vector<Strike> planned = std::exchange(strikes_, {});
  for (const Strike& strike : planned) {
    if (strike.due > now_) {
      strikes_.push_back(strike);
      continue;
    }
    Slot* slot = living(strike.slot, strike.life);
    if (slot == nullptr || slot->state != SlotState::Running || stopping_) continue;
    if (strike.signal == SIGKILL) slot->fault = strike.fault;
    // The signal first: who reads what is said may be slow.
    actions_.push_back(SendSignal{strike.slot, slot->life, strike.signal, slot->step});
    actions_.push_back(Say{Say::Level::Warning, cat("chaos: ", signal_name(strike.signal), " to rank ", rank_of(strike.slot), " in step ",
                                                    slot->step, ", for ", strike.fault)});
  }
}

/// Who is silent is suspected and no more; who is stuck is evicted. The detector accuses nobody when the agent itself was held up.
void AgentMachine::judge() {
  for (const HealthChange& change : detector_.tick(now_ms())) {
    const i64 number = static_cast<i64>(change.instance);
    Slot& slot = slots_[static_cast<std::size_t>(number)];
    const bool was_suspected = std::exchange(slot.suspected, change.health == Health::Silent);
    if (slot.suspected) {
      const std::uint64_t silent_ms = detector_.silent_for_ms(change.instance);
      publish(number, RankState::Suspected, cat("is silent for ", silent_ms, " ms, since step ", slot.step));
    } else if (was_suspected) {
      publish(number, RankState::Running, "beats again");
    }
    if (change.health != Health::Stuck) continue;
    std::uint64_t latest = 0;
    for (const Slot& other : slots_) {
      if (other.state == SlotState::Running) latest = std::max(latest, other.sequence);
    }
    const std::uint64_t still_ms = detector_.still_for_ms(change.instance);
    on(Evict{number, slot.life, cat("it is stuck in step ", slot.step, " before collective ", latest, " for ", still_ms, " ms")});
  }
}

void AgentMachine::finish_when_over() {
  const bool over = std::ranges::all_of(slots_, [](const Slot& slot) { return slot.state == SlotState::Over; });
  if (!over || incident_end_) return;
  finished_ = true;
  actions_.push_back(Finish{exit_code_});
}

Moment AgentMachine::median_step(const Slot& slot) const {
  if (slot.step_lengths.empty()) return kUnknownStep;
  std::vector<Moment> lengths = slot.step_lengths;
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::nth_element(lengths.begin(), middle, lengths.end());
  return *middle;
}

std::uint64_t AgentMachine::now_ms() const { return static_cast<std::uint64_t>(whole_milliseconds(now_)); }

i64 AgentMachine::count(SlotState state) const {
  return std::ranges::count_if(slots_, [state](const Slot& slot) { return slot.state == state; });
}

i64 AgentMachine::succeeded() const {
  return std::ranges::count_if(slots_, [](const Slot& slot) { return slot.state == SlotState::Over && slot.succeeded; });
}

void AgentMachine::publish(i64 slot, RankState state, std::string text) {
  actions_.push_back(Publish{slot, slots_[static_cast<std::size_t>(slot)].life, state, std::move(text)});
}

}  // namespace resilin::dist
