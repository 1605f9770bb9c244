// One pool of threads for the process.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace isotopic {

// Runs `work` in the calling thread and, as they become free, in up to `threads - 1` helpers;
// returns when all have left it. `work` must therefore be complete whoever takes part, and when
// another caller has the helpers it simply runs alone. `work` must not throw: others may still be in
// it. Works again after fork().
void run_in_team(int threads, const std::function<void()>& work);

// A sequence of steps, each cut into chunks that may run in any order and in any thread; a step
// starts when all chunks of the one before have ended. Which thread runs a chunk never changes
// what the chunk computes. Each thread begins with its own share of the chunks, always the same
// one, so that what they write stays in its cache from step to step and from pass to pass.
class Steps {
  public:
    Steps(std::vector<int64_t> chunks, int threads);

    // `chunk(step, index)` for all of them. `interrupted()` is asked now and then in the calling
    // thread; once it says true, the rest is skipped. Returns whether everything was run. If a
    // chunk throws, in any thread, the rest is skipped too, and the first exception is thrown here.
    bool run(const std::function<void(int64_t, int64_t)>& chunk, const std::function<bool()>& interrupted);

  private:
    struct alignas(64) Counter {
        std::atomic<int64_t> value{0};
    };
    std::vector<int64_t> chunks_;
    int threads_;
    std::vector<Counter> done_, next_;  // by step; by step and share
    std::atomic<bool> stopped_{false}, failed_{false};
    std::exception_ptr error_;  // written once, by the thread that set failed_; read when all have left
};

}  // namespace isotopic
