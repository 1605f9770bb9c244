#include "pool.hpp"
#include "subnormals.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace isotopic {
namespace {

void pause_a_little() {
#if defined(__SSE2__)
    for (int i = 0; i < 32; ++i) _mm_pause();
#else
    std::this_thread::yield();
#endif
}

thread_local int thread_number = 0;  // of a helper, from 1

class Pool {
  public:
    void run(int threads, const std::function<void()>& work) {
        std::unique_lock<std::mutex> mine(owner_, std::try_to_lock);
        if (!mine.owns_lock()) return work();
        grow(threads - 1);
        {
            std::lock_guard<std::mutex> lock(mutex_);
            work_ = &work;
            wanted_ = threads - 1;
        }
        wake_.notify_all();
        work();
        std::unique_lock<std::mutex> lock(mutex_);
        work_ = nullptr;
        wanted_ = 0;
        idle_.wait(lock, [this] { return active_ == 0; });
    }

  private:
    // A system that has no more threads to give leaves the work to those there are.
    void grow(int helpers) {
        try {
            for (; helpers_ < helpers; ++helpers_) {
                const int number = helpers_ + 1;
                std::thread([this, number] {
                    thread_number = number;
                    help();
                }).detach();
            }
        } catch (const std::system_error&) {
        }
    }

    void help() {
        std::unique_lock<std::mutex> lock(mutex_);
        for (;;) {
            if (wanted_ == 0) {
                lock.unlock();
                watch();
                lock.lock();
            }
            wake_.wait(lock, [this] { return wanted_ > 0; });
            const std::function<void()>& work = *work_;
            --wanted_;
            ++active_;
            lock.unlock();
            work();
            lock.lock();
            if (--active_ == 0) idle_.notify_all();
        }
    }

    // The next pass of a fit comes soon, and being woken takes long: look out for it a little.
    void watch() const {
        using clock = std::chrono::steady_clock;
        const auto until = clock::now() + std::chrono::milliseconds(1);
        while (wanted_.load(std::memory_order_relaxed) == 0 && clock::now() < until) pause_a_little();
    }

    std::mutex owner_, mutex_;
    std::condition_variable wake_, idle_;
    const std::function<void()>* work_ = nullptr;
    std::atomic<int> wanted_{0};
    int active_ = 0, helpers_ = 0;
};

// Never destroyed: helpers wait in it until the process ends. A forked child has none of its
// parent's threads, and perhaps its locks held, so it forgets the pool and makes its own. This is
// set up when the library is loaded: a fork during a first call could leave its guard held.
std::atomic<Pool*> the_pool{nullptr};
#if defined(__unix__) || defined(__APPLE__)
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr); });
#endif

Pool& pool() {
    Pool* current = the_pool.load();
    if (!current) {
        Pool* fresh = new Pool;
        if (the_pool.compare_exchange_strong(current, fresh)) return *fresh;
        delete fresh;
    }
    return *current;
}

}  // namespace

void run_in_team(int threads, const std::function<void()>& work) {
    if (threads <= 1)
        work();
    else
        pool().run(threads, work);
}

Steps::Steps(std::vector<int64_t> chunks, int threads)
    : chunks_(std::move(chunks)), done_(chunks_.size()) {
    // More threads than chunks would only wait.
    const int64_t most = chunks_.empty() ? 1 : *std::max_element(chunks_.begin(), chunks_.end());
    threads_ = int(std::clamp<int64_t>(threads, 1, std::max<int64_t>(most, 1)));
    next_ = std::vector<Counter>(chunks_.size() * size_t(threads_));
}

bool Steps::run(const std::function<void(int64_t, int64_t)>& chunk, const std::function<bool()>& interrupted) {
    using clock = std::chrono::steady_clock;
    const auto caller = std::this_thread::get_id();
    constexpr auto between_questions = std::chrono::milliseconds(100);

    run_in_team(threads_, [&] {
        const FlushSubnormals flush;  // in every thread, or the bits would depend on who did what
        const bool asks = std::this_thread::get_id() == caller;
        const int me = asks ? 0 : thread_number % threads_;
        auto asked = clock::now();
        for (size_t step = 0; step < chunks_.size(); ++step) {
            const int64_t n = chunks_[step];
            for (int i = 0; i < threads_; ++i) {
                const int share = (me + i) % threads_;  // one's own first, then what others have left
                const int64_t end = n * (share + 1) / threads_;
                for (;;) {
                    const int64_t index = n * share / threads_ + next_[step * size_t(threads_) + size_t(share)].value.fetch_add(1, std::memory_order_relaxed);
                    if (index >= end) break;
                    if (!stopped_.load(std::memory_order_relaxed)) {
                        try {
                            chunk(int64_t(step), index);
                        } catch (...) {  // out of memory, say
                            if (!failed_.exchange(true)) error_ = std::current_exception();
                            stopped_.store(true, std::memory_order_relaxed);
                        }
                    }
                    done_[step].value.fetch_add(1, std::memory_order_release);
                    if (asks && clock::now() - asked > between_questions) {
                        if (interrupted()) stopped_.store(true, std::memory_order_relaxed);
                        asked = clock::now();
                    }
                }
            }
            // The steps are short; a thread that waits long gives its core away. This ends: a chunk
            // that was taken is counted by the thread that took it, whatever becomes of the chunk.
            for (int spins = 0; done_[step].value.load(std::memory_order_acquire) < n; ++spins)
                if (spins > 1000) std::this_thread::yield();
        }
    });
    if (error_) std::rethrow_exception(error_);
    return !stopped_.load();
}

}  // namespace isotopic
