// tests/support/ranks.cpp -- threads as the processes of a job.
#include "tests/support/ranks.h"

#include <exception>
#include <thread>
#include <utility>

namespace resilin::dist::test {

Ranks::Ranks(int count, std::uint64_t seed, const std::function<void(GroupOptions&)>& change)
    : fabric_(seed), store_(make_hash_store()), change_(change) {
  for (int i = 0; i < count; ++i) add();
}

int Ranks::add() {
  const int process = count();
  GroupOptions options;
  options.store = store_;
  options.transport = fabric_.maker(process);
  options.launch_rank = process;
  if (change_) change_(options);
  groups_.emplace_back(std::move(options));
  return process;
}

std::vector<int> Ranks::all() const {
  std::vector<int> processes;
  for (int i = 0; i < count(); ++i) processes.push_back(i);
  return processes;
}

void Ranks::run(const std::vector<int>& processes, const std::function<void(int, ProcessGroup&)>& body) {
  std::mutex mutex;
  std::exception_ptr first;
  std::vector<std::thread> threads;
  for (const int process : processes) {
    threads.emplace_back([&, process] {
      try {
        body(process, (*this)[process]);
      } catch (...) {
        {
          const std::lock_guard<std::mutex> lock(mutex);
          if (first == nullptr) first = std::current_exception();
        }
        (*this)[process].abort("the test has failed");  // so that nobody waits for it
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (first != nullptr) std::rethrow_exception(first);
}

void Ranks::reconfigure(const std::vector<int>& processes) {
  ReconfigureOptions options{.uuid = next_uuid(), .handles = {}};
  for (const int process : processes) options.handles.push_back((*this)[process].reconfigure_handle());
  run(processes, [&](int, ProcessGroup& group) { group.reconfigure(options); });
}

std::string message_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace resilin::dist::test
