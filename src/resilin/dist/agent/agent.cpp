// src/resilin/dist/agent/agent.cpp -- the agent's loop: what happens becomes events, what is decided happens.
#include "resilin/dist/agent/agent.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "resilin/base/error.h"
#include "resilin/base/event_log.h"
#include "resilin/base/log.h"
#include "resilin/base/overloaded.h"
#include "resilin/dist/agent/beat_server.h"
#include "resilin/dist/agent/coordination.h"
#include "resilin/dist/agent/memory_kills.h"
#include "resilin/dist/agent/rank_process.h"
#include "resilin/dist/agent/rank_record.h"
#include "resilin/dist/agent/store_link.h"
#include "resilin/dist/launch/processors.h"
#include "resilin/dist/membership/records.h"
#include "resilin/dist/os/event_loop.h"
#include "resilin/dist/wire/codec.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

constexpr nanoseconds kShowOutput = milliseconds(50);
constexpr nanoseconds kLookAround = milliseconds(200);  // whether anybody is there to be watched
constexpr milliseconds kLease{4'000};

/// Memory that holds the secret under a descriptor, and that nobody can write any more.
Descriptor sealed_secret(const JobSecret& secret) {
  Descriptor memory(memfd_create("resilin-secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  const std::string_view bytes = secret.bytes();
  if (!memory || write(memory.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      fcntl(memory.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    throw UnsupportedError("run: the system gives no sealed memory for the secret; memfd_create is needed");
  }
  return memory;
}

Descriptor signal_descriptor() {
  sigset_t ends;
  sigemptyset(&ends);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ends, signal);
  Descriptor descriptor(signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor) throw UnsupportedError("run: the system gives no signal descriptor; one is needed");
  return descriptor;
}

i64 own_memory_kills() {
  try {
    return memory_kills(read_file("/proc/self/cgroup"));
  } catch (const IoError&) {
    return 0;  // nobody counts
  }
}

AgentOptions machine_options(const AgentSetup& setup) {
  const RunOptions& run = setup.run;
  AgentOptions options;
  options.first_rank = setup.place.first_rank;
  options.local_ranks = run.ranks_per_node;
  options.policy = run.policy;
  options.max_restarts = run.max_restarts;
  options.min_ranks = run.min_ranks;
  options.heartbeat_timeout = run.heartbeat_timeout;
  options.stop_grace = run.stop_grace;
  options.chaos = parse_chaos(run.chaos);
  return options;
}

/// Of all hosts, before anything happens to them.
std::size_t expected_ranks(const AgentSetup& setup) {
  const i64 watched = setup.run.ranks_per_node * setup.place.nodes;
  return static_cast<std::size_t>(setup.adopts ? watched : setup.place.world_size);
}

LogLevel level_of(Say::Level level) {
  switch (level) {
    case Say::Level::Info: return LogLevel::Info;
    case Say::Level::Warning: return LogLevel::Warning;
    case Say::Level::Error: return LogLevel::Error;
  }
  return LogLevel::Error;
}

}  // namespace

class Agent::Work {
 public:
  Work(AgentSetup setup, const JobSecret& secret, RunFolder& folder, std::shared_ptr<Store> store, Clock& clock)
      : setup_(std::move(setup)),
        folder_(folder),
        clock_(clock),
        machine_(machine_options(setup_)),
        slots_(static_cast<std::size_t>(setup_.run.ranks_per_node)),
        processors_(usable_processors()),
        shares_(share_processors(processors_, setup_.run.ranks_per_node)),
        secret_(sealed_secret(secret)),
        signals_(signal_descriptor()),
        memory_kills_(own_memory_kills()),
        beats_(loop_, {Address::Kind::Unix, folder.path() + "/agent", 0}, secret,
               [this](const BeatMessage& beat, int process) { take_beat(beat, process); }),
        records_(store),
        store_(store, agent_key(setup_.place.node) + "/ended", clock),
        coordination_(
            expected_ranks(setup_), setup_.run.policy, store,
            [this](std::uint64_t instance, std::uint64_t generation) { queue_loss(instance, generation); }, clock) {
    if (!setup_.run.events.empty()) event_log_.emplace(setup_.run.events);
    loop_.add(signals_.get(), [this](EventLoop::Ready) { take_signals(); });
    watch_store();
  }

  int run() {
    if (!setup_.adopts) handle(Begin{});
    while (!exit_code_) {
      loop_.run_once(time_to_wait());
      take_queued();
      if (machine_.deadline() && clock_.now() >= *machine_.deadline()) handle(Tick{});
      for (Slot& slot : slots_) {
        if (slot.process) slot.process->show_output();
      }
      if (setup_.adopts && is_forsaken()) return 1;
    }
    return *exit_code_;
  }

 private:
  struct Slot {
    std::optional<RankProcess> process;
    std::optional<ForeignProcess> foreign;  // in place of process, when others start the ranks
    i64 rank = -1;                          // -1: nobody was adopted into it yet
    i64 life = -1;
    std::uint64_t instance = 0;  // 0: the store has not numbered this life yet
    bool must_end = false;       // it was told to before it ran
    bool lives() const { return process || foreign; }
  };

  /// Nobody was there to be watched for the join timeout.
  bool is_forsaken() {
    const nanoseconds now = clock_.now();
    if (std::ranges::any_of(slots_, &Slot::lives)) last_company_ = now;
    if (now - last_company_ < setup_.run.join_timeout) return false;
    log(LogLevel::Error, cat("the agent ends: no rank was there for ", setup_.run.join_timeout.count(), " ms"));
    return true;
  }

  std::optional<nanoseconds> time_to_wait() const {
    std::optional<nanoseconds> wait;
    if (setup_.adopts) wait = kLookAround;
    if (machine_.deadline()) {
      const nanoseconds due = std::max(*machine_.deadline() - clock_.now(), nanoseconds(0));
      wait = std::min(wait.value_or(due), due);
    }
    const bool shows = std::ranges::any_of(slots_, [](const Slot& slot) { return slot.process && slot.process->shows_output(); });
    if (shows) wait = std::min(wait.value_or(kShowOutput), kShowOutput);
    return wait;
  }

  /// Decides and acts; what the actions cause at once is decided next.
  void handle(const AgentEvent& event) {
    events_.push_back(event);
    if (std::exchange(handling_, true)) return;
    while (!events_.empty()) {
      const AgentEvent next = std::move(events_.front());
      events_.pop_front();
      for (const AgentAction& action : machine_.step(clock_.now(), next)) {
        std::visit([this](const auto& value) { act(value); }, action);
      }
    }
    handling_ = false;
  }

  void act(const Spawn& spawn) {
    Slot& slot = slots_[static_cast<std::size_t>(spawn.slot)];
    slot.rank = setup_.place.first_rank + spawn.slot;
    slot.life = spawn.life;
    slot.instance = 0;
    slot.must_end = false;
    store_.count_up(kInstancesKey, [this, spawn](std::uint64_t instance, const std::string& trouble) {
      queue({[this, spawn, instance, trouble] { start(spawn, instance, trouble); }});
    });
  }

  void start(const Spawn& spawn, std::uint64_t instance, const std::string& trouble) {
    Slot& slot = slots_[static_cast<std::size_t>(spawn.slot)];
    slot.instance = instance;
    if (instance == 0) return handle(SpawnFailed{spawn.slot, cat("the store gives no number to this life: ", trouble)});
    if (slot.must_end) return handle(SpawnFailed{spawn.slot, "it was to end before it ran"});
    try {
      slot.process.emplace(info_of(spawn), output_of(spawn.slot), program_of(spawn));
    } catch (const IoError& error) {
      slot.process.reset();
      return handle(SpawnFailed{spawn.slot, error.what()});
    }
    folder_.note_process(slot.process->child().process());
    append_event("start", slot, {{"pid", static_cast<i64>(slot.process->child().process())}});
    loop_.add(slot.process->child().descriptor(), [this, number = spawn.slot](EventLoop::Ready) { take_end(number); });
    handle(Spawned{spawn.slot, spawn.life});
  }

  RankInfo info_of(const Spawn& spawn) const {
    const NodePlace& place = setup_.place;
    RankInfo info;
    info.rank = place.first_rank + spawn.slot;
    info.local_rank = spawn.slot;
    info.world_size = place.world_size;
    info.local_world_size = setup_.run.ranks_per_node;
    info.group_rank = place.node;
    info.group_world_size = place.nodes;
    info.restart_count = spawn.life;
    info.max_restarts = setup_.run.max_restarts;
    info.instance = slots_[static_cast<std::size_t>(spawn.slot)].instance;
    info.run_id = setup_.run.rdzv_id;
    info.role = setup_.run.role;
    info.master_addr = setup_.master_addr;
    info.master_port = setup_.master_port;
    info.store_address = setup_.store_address;
    info.agent_address = print_address(beats_.address());
    info.secret_descriptor = secret_.get();
    info.error_file = cat(folder_.path(), "/error-", info.rank, "-", spawn.life, ".json");
    info.threads = threads_of_rank(static_cast<i64>(processors_.size()), setup_.run.ranks_per_node);
    return info;
  }

  Program program_of(const Spawn& spawn) const {
    Program program;
    program.arguments = setup_.run.program;
    program.environment = rank_environment(info_of(spawn), setup_.environment);
    program.processors = shares_[static_cast<std::size_t>(spawn.slot)];
    program.kept = {secret_.get()};
    program.dies_with_parent = setup_.ranks_die_with_agent;
    return program;
  }

  RankOutput output_of(i64 slot) const { return {setup_.run.log_dir, setup_.run.redirects.of(slot), setup_.run.tee.of(slot)}; }

  void act(const SendSignal& order) {
    Slot& slot = slots_[static_cast<std::size_t>(order.slot)];
    if (slot.life != order.life) return;
    slot.must_end = slot.must_end || (order.signal != SIGSTOP && order.signal != SIGCONT);
    const i64 sent_us = unix_time_us();  // what the rank does next happens after it
    if (slot.process) slot.process->send_signal(order.signal);
    if (slot.foreign) slot.foreign->send_signal(order.signal);
    if (order.fault_step) append_event("kill", slot, {{"signal", order.signal}, {"step", *order.fault_step}}, sent_us);
  }

  void append_event(const char* what, const Slot& slot, Json::Object more, i64 t_us = 0) {
    if (event_log_) event_log_->append({what, slot.rank, slot.life, std::move(more), t_us});
  }

  void act(const Publish& news) {
    const Slot& slot = slots_[static_cast<std::size_t>(news.slot)];
    RankRecord record;
    record.state = news.state;
    record.instance = slot.instance;
    record.life = news.life;
    record.node = setup_.place.node;
    record.process = slot.process ? slot.process->child().process() : slot.foreign ? slot.foreign->process() : 0;
    record.text = news.text;
    if (news.state == RankState::Suspected) log(LogLevel::Warning, cat("rank ", slot.rank, " ", news.text));
    store_.set(rank_key(slot.rank), encode(record));
    coordination_.note(slot.instance, news.state);
  }

  void act(const Say& say) { log(level_of(say.level), say.text); }

  void act(const Fail& failure) {
    failed_here_ = true;
    store_.set(job_failed_key(setup_.place.node), failure.reason);
  }

  void act(const Finish& finish) { exit_code_ = finish.exit_code; }

  void take_end(i64 number) {
    Slot& slot = slots_[static_cast<std::size_t>(number)];
    if (!slot.process) return;
    std::optional<ProcessEnd> end = slot.process->reap();
    if (!end) return;
    loop_.remove(slot.process->child().descriptor());
    if (end->signal == SIGKILL && !slot.process->was_killed_here()) {
      const i64 kills = own_memory_kills();
      end->out_of_memory = kills > std::exchange(memory_kills_, kills);
    }
    append_event("exit", slot, {{"cause", describe(*end)}});
    slot.process->finish_output();
    const LastWords words = read_last_words(slot.process->info().error_file);
    slot.process.reset();
    handle(Exited{number, slot.life, *end, words.text, words.reports_other});
  }

  /// Nobody but its parent knows how it ended.
  void take_foreign_end(i64 number) {
    Slot& slot = slots_[static_cast<std::size_t>(number)];
    if (!slot.foreign || !slot.foreign->has_ended()) return;
    loop_.remove(slot.foreign->descriptor());
    slot.foreign.reset();
    handle(Exited{number, slot.life, ProcessEnd{}, "", false});
  }

  void adopt(const BeatMessage& message, pid_t process) {
    Slot* chosen = nullptr;
    for (Slot& slot : slots_) {
      if (slot.rank == message.rank || (chosen == nullptr && slot.rank == -1)) chosen = &slot;
    }
    if (chosen == nullptr) {
      log(LogLevel::Warning, cat("rank ", message.rank, " is one more than the ", slots_.size(), " that the agent watches"));
      return;
    }
    if (chosen->foreign) return;  // until its predecessor is gone
    try {
      chosen->foreign.emplace(process);
    } catch (const IoError& error) {
      log(LogLevel::Warning, error.what());
      return;
    }
    const i64 number = chosen - slots_.data();
    if (chosen->rank == -1) store_.watch({eviction_of(message.rank, number)});
    chosen->rank = message.rank;
    chosen->instance = message.instance;
    ++chosen->life;
    folder_.note_process(process);
    loop_.add(chosen->foreign->descriptor(), [this, number](EventLoop::Ready) { take_foreign_end(number); });
    handle(Adopt{number, message.rank});
  }

  void take_beat(const BeatMessage& message, pid_t process) {
    const bool known = std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.lives() && slot.instance == message.instance; });
    if (!known && setup_.adopts) adopt(message, process);
    for (i64 number = 0; number < setup_.run.ranks_per_node; ++number) {
      const Slot& slot = slots_[static_cast<std::size_t>(number)];
      if (!slot.lives() || slot.instance != message.instance) continue;
      handle(Beat{number, slot.life, message.step, message.sequence, message.leaving});
      return;
    }
  }

  void take_signals() {
    signalfd_siginfo info{};
    while (read(signals_.get(), &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
      const int signal = static_cast<int>(info.ssi_signo);
      handle(Stop{signal, 128 + signal, cat("the agent received ", signal_name(signal))});
    }
  }

  void watch_store() {
    std::vector<WatchedKey> keys;
    for (i64 slot = 0; slot < setup_.run.ranks_per_node && !setup_.adopts; ++slot) {
      keys.push_back(eviction_of(setup_.place.first_rank + slot, slot));
    }
    if (setup_.place.nodes > 1) {
      store_.hold_lease(agent_key(setup_.place.node), kLease);
      for (i64 node = 0; node < setup_.place.nodes; ++node) {
        if (node == setup_.place.node) continue;
        keys.push_back({job_failed_key(node), [this, node](const StoreValue& value) { queue_failure(node, value.bytes); }});
        keys.push_back({agent_key(node), [this, node](const StoreValue& value) { take_lease(node, value.exists()); }});
      }
    }
    store_.watch(std::move(keys));
  }

  WatchedKey eviction_of(i64 rank, i64 slot) {
    return {evict_key(rank), [this, slot](const StoreValue& value) { queue_eviction(slot, value); }};
  }

  // These four run in threads of the store's watchers.
  void queue_failure(i64 node, const std::string& reason) {
    const bool is_over_there = lost_hosts_.contains(node) && coordination_.has_lineage();
    queue({[this, node, reason, is_over_there] {
      if (failed_here_) return;
      if (!is_over_there) return handle(Stop{SIGTERM, 1, cat("it failed on host ", node, ": ", reason)});
      log(LogLevel::Warning, cat("host ", node, ", without which the job went on, has failed: ", reason));
    }});
  }

  void queue_eviction(i64 number, const StoreValue& value) {
    if (!value.exists()) return;
    const EvictOrder order = decode<EvictOrder>(value.bytes);
    queue({[this, number, order] {
      const Slot& slot = slots_[static_cast<std::size_t>(number)];
      if (slot.lives() && slot.instance == order.instance) handle(Evict{number, slot.life, order.reason});
    }});
  }

  void queue_loss(std::uint64_t instance, std::uint64_t generation) {
    queue({[this, instance, generation] {
      for (i64 number = 0; number < setup_.run.ranks_per_node; ++number) {
        const Slot& slot = slots_[static_cast<std::size_t>(number)];
        if (!slot.lives() || slot.instance != instance) continue;
        const bool spares_leaving = true;
        return handle(Evict{number, slot.life, cat("generation ", generation, " goes on without it"), spares_leaving});
      }
    }});
  }

  /// Each renewal is told too.
  void take_lease(i64 node, bool is_held) {
    if (is_held != silent_hosts_.contains(node)) return;
    const std::vector<std::uint64_t> instances = is_held ? std::vector<std::uint64_t>() : lives_on(node);
    if (is_held) {
      silent_hosts_.erase(node);
      log(LogLevel::Info, cat("host ", node, " is heard of again"));
    } else {
      silent_hosts_.insert(node);
      lost_hosts_.insert(node);
      log(LogLevel::Warning, cat("host ", node, " is silent: the lease of its agent has ended"));
    }
    queue({[this, node, instances] { coordination_.note_lost_host(node, instances); }});
  }

  std::vector<std::uint64_t> lives_on(i64 node) const {
    std::vector<std::uint64_t> instances;
    for (const std::string& key : records_->list("rank/")) {
      const RankRecord record = decode<RankRecord>(records_->get(key));
      const bool lives = record.state == RankState::Running || record.state == RankState::Suspected;
      if (record.node == node && lives) instances.push_back(record.instance);
    }
    return instances;
  }

  void queue(std::function<void()> task) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      queued_.push_back(std::move(task));
    }
    loop_.wake();
  }

  void take_queued() {
    std::vector<std::function<void()>> tasks;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      tasks.swap(queued_);
    }
    for (const std::function<void()>& task : tasks) task();
  }

  const AgentSetup setup_;
  RunFolder& folder_;
  Clock& clock_;
  AgentMachine machine_;
  EventLoop loop_;
  std::vector<Slot> slots_;
  const std::vector<int> processors_;
  const std::vector<std::vector<int>> shares_;
  const Descriptor secret_;
  const Descriptor signals_;
  i64 memory_kills_;
  std::optional<EventLog> event_log_;
  std::deque<AgentEvent> events_;
  bool handling_ = false;
  bool failed_here_ = false;
  nanoseconds last_company_ = clock_.now();
  std::optional<int> exit_code_;
  std::mutex mutex_;  // guards queued_
  std::vector<std::function<void()>> queued_;
  std::set<i64> silent_hosts_, lost_hosts_;  // now, and ever; of the watcher's thread
  BeatServer beats_;
  const std::shared_ptr<Store> records_;
  StoreLink store_;            // its threads use all of the above
  Coordination coordination_;  // so do its
};

Agent::Agent(AgentSetup setup, const JobSecret& secret, RunFolder& folder, std::shared_ptr<Store> store, Clock& clock)
    : work_(std::make_unique<Work>(std::move(setup), secret, folder, std::move(store), clock)) {}

Agent::~Agent() = default;

int Agent::run() { return work_->run(); }

}  // namespace resilin::dist
