// One pool of threads for the process.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <vector>

namespace isotopic {

// Runs `work` in the calling thread and, as they become free, in up to `threads - 1` helper
// threads. Returns when all of them have finished. `work` must be complete for any number of
// threads: if another caller uses the helpers, it runs in the calling thread alone. `work` must not
// throw, because other threads may still run it. A forked child can call this as well.
void run_in_team(int threads, const std::function<void()>& work);

// A sequence of steps. The chunks of a step may run in any order and in any thread; a step starts
// when all chunks of the previous one have ended. What a chunk computes never depends on its
// thread. Each thread begins with its own share of the chunks, always the same one, so that what
// they write stays in its cache from step to step and from pass to pass.
class Steps {
  public:
    Steps(std::vector<int64_t> chunks, int threads);

    // Calls `chunk(step, index)` for all chunks and returns whether all of them ran. The calling
    // thread calls `interrupted()` from time to time; once it returns true, the rest is skipped. If
    // a chunk throws, in any thread, the rest is skipped too, and the first exception is rethrown.
    bool run(const std::function<void(int64_t, int64_t)>& chunk,
             const std::function<bool()>& interrupted);

  private:
    struct alignas(64) Counter {
        std::atomic<int64_t> value{0};
    };
    std::vector<int64_t> chunks_;
    int threads_;
    std::vector<Counter> done_;  // by step
    std::vector<Counter> next_;  // by step and share
    std::atomic<bool> stopped_{false}, failed_{false};
    std::exception_ptr error_;  // written by the thread that set failed_, read when all are done
};

}  // namespace isotopic
