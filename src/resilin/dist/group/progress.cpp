// src/resilin/dist/group/progress.cpp -- one thread that sleeps on all meshes and polls those that nobody attends.
#include "resilin/dist/group/progress.h"

#include <array>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "resilin/dist/group/mesh.h"
#include "resilin/dist/os/descriptor.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

/// How long it sleeps at most: when a caller attends a mesh, which it may cease to do at any time; when works are open, for their deadlines;
/// and else.
constexpr milliseconds kWhileAttended{2};
constexpr milliseconds kWhileOpen{50};
constexpr milliseconds kIdle{500};
/// Polls of a mesh that keeps moving before the others get their turn.
constexpr int kMostPolls = 64;

class ProgressThread {
 public:
  ProgressThread() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), thread_([this] { run(); }) {}

  void add(const std::shared_ptr<Mesh>& mesh) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      meshes_.push_back(mesh);
    }
    wake();
  }
  void wake() const {
    const std::uint64_t one = 1;
    static_cast<void>(::write(wake_.get(), &one, sizeof one));
  }

 private:
  [[noreturn]] void run() {
    while (true) {
      std::vector<pollfd> ready{{wake_.get(), POLLIN, 0}};
      milliseconds longest = kIdle;
      {
        // Held no longer than this round, so that a mesh ends when its group lets go of it.
        const std::vector<std::shared_ptr<Mesh>> meshes = live_meshes();
        for (const std::shared_ptr<Mesh>& mesh : meshes) longest = std::min(longest, attend(*mesh, ready));
      }
      static_cast<void>(::poll(ready.data(), ready.size(), static_cast<int>(longest.count())));
      std::uint64_t count = 0;
      if (ready[0].revents != 0) static_cast<void>(::read(wake_.get(), &count, sizeof count));
    }
  }

  /// Polls the mesh while it moves; gives back how long the thread may sleep for its sake.
  static milliseconds attend(Mesh& mesh, std::vector<pollfd>& ready) {
    for (int i = 0; i < kMostPolls; ++i) {
      if (mesh.attended()) return kWhileAttended;
      if (mesh.poll()) continue;
      if (mesh.is_closed()) return kIdle;
      const std::optional<std::array<int, 2>> armed = mesh.arm();
      if (!armed) continue;
      for (const int descriptor : *armed) ready.push_back({descriptor, POLLIN, 0});
      return mesh.has_open_works() ? kWhileOpen : kIdle;
    }
    return milliseconds(0);
  }

  std::vector<std::shared_ptr<Mesh>> live_meshes() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<std::shared_ptr<Mesh>> live;
    std::erase_if(meshes_, [&](const std::weak_ptr<Mesh>& weak) {
      std::shared_ptr<Mesh> mesh = weak.lock();
      if (mesh == nullptr || mesh->is_closed()) return true;
      live.push_back(std::move(mesh));
      return false;
    });
    return live;
  }

  const Descriptor wake_;
  std::mutex mutex_;  // guards meshes_
  std::vector<std::weak_ptr<Mesh>> meshes_;
  std::thread thread_;
};

ProgressThread& progress_thread() {
  // Lives for ever: groups may end while the process does.
  static ProgressThread* const thread = new ProgressThread;
  return *thread;
}

}  // namespace

void look_after(const std::shared_ptr<Mesh>& mesh) { progress_thread().add(mesh); }
void look_now() { progress_thread().wake(); }

}  // namespace resilin::dist
