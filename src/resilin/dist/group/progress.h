// src/resilin/dist/group/progress.h -- Internal: the thread that moves bytes when no caller does.
#pragma once

#include <memory>

namespace resilin::dist {

class Mesh;

/// Looks after a mesh from now on, as long as somebody holds it and it is not closed.
void look_after(const std::shared_ptr<Mesh>& mesh);
/// A collective was started that nobody waits for: the thread looks at once.
void look_now();

}  // namespace resilin::dist
