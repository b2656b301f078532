// src/resilin/dist/group/progress.cpp -- one thread that sleeps on all meshes and polls those that nobody attends.
#include "resilin/dist/group/progress.h"

#include <chrono>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "resilin/dist/group/mesh.h"
#include "resilin/dist/os/descriptor.h"
#include "resilin/dist/os/thread.h"

namespace resilin::dist {
namespace {

using std::chrono::milliseconds;

/// How long it sleeps at most: when a caller attends a mesh, which it may cease to do at any time; when works are open, for their deadlines;
/// and else.
constexpr milliseconds kWhileAttended{2};
constexpr milliseconds kWhileOpen{50};
constexpr milliseconds kIdle{500};

class ProgressThread {
 public:
  ProgressThread() : wake_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), thread_(start_thread([this] { run(); })) {}

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

  /// Looks after the mesh unless somebody else does; gives back how long the thread may sleep for its sake.
  static milliseconds attend(Mesh& mesh, std::vector<pollfd>& ready) {
    if (mesh.attended()) return kWhileAttended;
    const Mesh::Look look = mesh.look();
    if (look.is_busy) return kWhileAttended;
    if (look.keeps_moving) return milliseconds(0);
    for (const int descriptor : look.descriptors) {
      if (descriptor >= 0) ready.push_back({descriptor, POLLIN, 0});
    }
    return mesh.has_open_works() ? kWhileOpen : kIdle;
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
