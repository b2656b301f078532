// src/resilin/dist/store/prefix_store.cpp -- the part of a store whose keys begin alike.
#include <utility>

#include "resilin/base/error.h"
#include "resilin/dist/store/store.h"

namespace resilin::dist {
namespace {

class PrefixStore final : public Store {
 public:
  PrefixStore(std::string prefix, std::shared_ptr<Store> base) : prefix_(std::move(prefix)), base_(std::move(base)) {}

  Reply ask(Request request, std::stop_token stop) override {
    const bool counts = request.op == StoreOp::NumKeys;
    if (counts) request = {.op = StoreOp::List, .writer = request.writer, .answered = request.answered, .keys = {""}};
    for (std::string& key : request.keys) key.insert(0, prefix_);
    for (Compare& compare : request.compares) compare.key.insert(0, prefix_);
    for (Write& write : request.writes) write.key.insert(0, prefix_);
    Reply reply = base_->ask(std::move(request), std::move(stop));
    for (std::string& key : reply.keys) key.erase(0, prefix_.size());
    if (counts) reply.number = static_cast<std::int64_t>(std::exchange(reply.keys, {}).size());
    return reply;
  }

 private:
  std::string prefix_;
  std::shared_ptr<Store> base_;
};

}  // namespace

std::shared_ptr<Store> make_prefix_store(std::string_view prefix, std::shared_ptr<Store> base) {
  if (base == nullptr) throw ArgumentError(cat("make_prefix_store: there is no store to take the prefix \"", prefix, "\" of"));
  return std::make_shared<PrefixStore>(cat(prefix, '/'), std::move(base));
}

}  // namespace resilin::dist
