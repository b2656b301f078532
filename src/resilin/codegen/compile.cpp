// src/resilin/codegen/compile.cpp -- where the code of a nest comes from: this process, the disk cache, the pack, the compiler.
#include "resilin/codegen/compile.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>
#include <unordered_map>
#include <unordered_set>

#include <pthread.h>

#include "resilin/base/config.h"
#include "resilin/base/log.h"
#include "resilin/codegen/disk_cache.h"
#include "resilin/codegen/fingerprint.h"
#include "resilin/codegen/generate.h"
#include "resilin/codegen/pack.h"
#include "resilin/loop/vectorize.h"

namespace resilin {
namespace {

using loop::Mutant;
using CodePointer = std::shared_ptr<const Code>;

constexpr std::array<std::string_view, 12> kMutantNames = {"none", "tail_mask", "stride",     "reduce_init", "reduce_tree", "wrong_cast",
                                                           "fill", "bound",     "scan_carry", "position",    "check_mask",  "store_mask"};
static_assert(kMutantNames.size() == static_cast<std::size_t>(Mutant::StoreMask) + 1);

Mutant parse_mutant(const std::string& name) {
  if (name.empty()) return Mutant::None;
  for (std::size_t i = 0; i < kMutantNames.size(); ++i) {
    if (kMutantNames[i] == name) return static_cast<Mutant>(i);
  }
  throw ArgumentError(cat("codegen.mutant: unknown fault: \"", name, "\"; it must be one of ", kMutantNames));
}

/// What all compiles of the process share. Lives for ever: threads may compile while the process ends.
struct Shared {
  std::mutex mutex;  // guards all that follows
  std::condition_variable changed;
  std::unordered_map<std::string, std::weak_ptr<const Code>> known;  // by key text
  std::unordered_set<std::string> in_progress;                       // key texts that a thread works on
  std::size_t prune_at = 64;
  CompileStats stats;
  std::string pack_path;
  std::shared_ptr<const Pack> pack;
};

Shared* g_shared = nullptr;

// A fork waits until no compile runs, so that neither these tables nor LLVM and its locks are copied in the middle of something.
void before_fork() {
  std::unique_lock<std::mutex> lock(g_shared->mutex);
  g_shared->changed.wait(lock, [] { return g_shared->in_progress.empty(); });
  static_cast<void>(lock.release());
}
void after_fork_in_parent() { g_shared->mutex.unlock(); }
void after_fork_in_child() {
  new (&g_shared->mutex) std::mutex;  // waiters of the parent do not exist here
  new (&g_shared->changed) std::condition_variable;
}

Shared& shared() {
  static const bool is_made = [] {
    g_shared = new Shared;
    return pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  }();
  RESILIN_ASSERT(is_made, "pthread_atfork failed");
  return *g_shared;
}

/// The right to produce the code of a key: one thread has it, others wait for what it produces.
class Claim {
 public:
  explicit Claim(const std::string& text) : text_(text) {
    Shared& all = shared();
    std::unique_lock<std::mutex> lock(all.mutex);
    while (true) {
      const auto found = all.known.find(text_);
      if (found != all.known.end()) code_ = found->second.lock();
      if (code_ != nullptr || all.in_progress.insert(text_).second) return;
      all.changed.wait(lock);
    }
  }

  ~Claim() {
    if (code_ != nullptr) return;
    Shared& all = shared();
    const std::lock_guard<std::mutex> lock(all.mutex);
    if (made_ != nullptr) {
      if (all.known.size() >= all.prune_at) {
        std::erase_if(all.known, [](const auto& item) { return item.second.expired(); });
        all.prune_at = std::max<std::size_t>(64, 2 * all.known.size());
      }
      all.known[text_] = made_;
    }
    all.in_progress.erase(text_);
    all.changed.notify_all();
  }
  Claim(const Claim&) = delete;
  Claim& operator=(const Claim&) = delete;

  /// The code, when this process has it already; then there is nothing to produce.
  const CodePointer& code() const { return code_; }
  void finish(const CodePointer& made) { made_ = made; }

 private:
  const std::string& text_;
  CodePointer code_;
  CodePointer made_;
};

void count(i64 CompileStats::*counter) {
  Shared& all = shared();
  const std::lock_guard<std::mutex> lock(all.mutex);
  ++(all.stats.*counter);
}

KernelKey make_key(const Target& target, Mutant mutant, const std::string& text) {
  KernelKey key{target.isa, target.features, {}};
  key.text = cat("resilin kernel, image ", kImageVersion, ", abi ", kAbi.version, ", generator ", kCodegenFingerprint, "\ntarget ",
                 target.features, " tuned for ", target.tune, "\nmutant ", kMutantNames[static_cast<std::size_t>(mutant)], "\n", text);
  return key;
}

/// The pack that the knob names now; null when there is none.
std::shared_ptr<const Pack> current_pack() {
  static const config::Knob& knob = config::knob("cache.pack");
  const std::string path = knob.text();
  Shared& all = shared();
  const std::lock_guard<std::mutex> lock(all.mutex);
  if (all.pack_path != path) {
    all.pack_path = path;
    all.pack = Pack::open(path);
  }
  return all.pack;
}

/// The folder of the disk cache; nothing when it is switched off or has no name (a process without HOME), which the log says once.
std::string cache_folder() {
  if (!config::flag("cache.enabled")) return {};
  try {
    return config::text("cache.dir");
  } catch (const ArgumentError& error) {
    static std::once_flag once;
    std::call_once(once, [&] { log(LogLevel::Warning, cat("codegen: compiled kernels are not kept: ", error.what())); });
    return {};
  }
}

CodePointer find_on_disk(const std::string& folder, const KernelKey& key) {
  const CacheAnswer answer = read_cached(folder, key);
  if (answer.refused) count(&CompileStats::refused);
  if (answer.image.empty()) return nullptr;
  count(&CompileStats::disk_hits);
  return map_image(answer.image, Origin::Disk);
}

CodePointer find_in_pack(const KernelKey& key) {
  const std::shared_ptr<const Pack> pack = current_pack();
  if (pack == nullptr) return nullptr;
  bool refused = false;
  const std::string_view image = pack->find(key, refused);
  if (refused) {
    count(&CompileStats::refused);
    static std::once_flag once;
    std::call_once(once, [] {
      log(LogLevel::Warning, cat("codegen: kernels of the pack are damaged and compiled instead: ", config::text("cache.pack")));
    });
  }
  if (image.empty()) return nullptr;
  count(&CompileStats::pack_hits);
  return map_image(image, Origin::Pack);
}

std::string build_image(const loop::Nest& nest, const Target& target, Mutant mutant, const KernelKey& key) {
  const auto start = std::chrono::steady_clock::now();
  const loop::Program program = loop::vectorize(nest, target.vector, mutant);
  const auto middle = std::chrono::steady_clock::now();
  if (show_enabled("program")) show("program", nest.name, print(program));
  std::string image = make_image(key, generate(program, table_words(nest), target, nest.name));
  const auto end = std::chrono::steady_clock::now();
  const auto milliseconds = [](auto from, auto to) { return std::chrono::duration<double, std::milli>(to - from).count(); };
  if (show_enabled("time")) {
    show("time", nest.name,
         cat("vectorize ", milliseconds(start, middle), " ms, all ", milliseconds(start, end), " ms, image ", image.size(), " bytes"));
  }
  Shared& all = shared();
  const std::lock_guard<std::mutex> lock(all.mutex);
  ++all.stats.compiled;
  all.stats.compile_ms += milliseconds(start, end);
  return image;
}

CodePointer produce(const loop::Nest& nest, const Target& target, Mutant mutant, const KernelKey& key) {
  // Faulty code is never kept, and a kernel whose stages are to be shown goes through them.
  const bool shows = show_enabled("program") || show_enabled("llvm") || show_enabled("asm");
  const std::string folder = mutant == Mutant::None ? cache_folder() : std::string();
  if (!folder.empty() && !shows) {
    if (CodePointer code = find_on_disk(folder, key)) return code;
  }
  if (mutant == Mutant::None && !shows) {
    if (CodePointer code = find_in_pack(key)) return code;
  }
  const std::string image = build_image(nest, target, mutant, key);
  if (!folder.empty()) write_cached(folder, key, image);
  return map_image(image, Origin::Compiled);
}

}  // namespace

std::shared_ptr<const Code> compile(const loop::Nest& nest, const std::string& text) {
  const Target target = describe_target(target_isa());
  const Mutant mutant = parse_mutant(config::text("codegen.mutant"));
  const KernelKey key = make_key(target, mutant, text);
  Claim claim(key.text);
  if (claim.code() != nullptr) return claim.code();
  const CodePointer code = produce(nest, target, mutant, key);
  claim.finish(code);
  return code;
}

std::string compile_for_pack(const loop::Nest& nest, const std::string& text, Isa isa, const Pack* before) {
  const Target target = describe_target(isa);
  const KernelKey key = make_key(target, Mutant::None, text);
  bool refused = false;
  const std::string_view known = before == nullptr ? std::string_view() : before->find(key, refused);
  return known.empty() ? build_image(nest, target, Mutant::None, key) : std::string(known);
}

CompileStats compile_stats() {
  Shared& all = shared();
  const std::lock_guard<std::mutex> lock(all.mutex);
  return all.stats;
}

}  // namespace resilin
