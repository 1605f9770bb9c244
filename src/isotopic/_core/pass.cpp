#include "pass.hpp"

#include <algorithm>
#include <cstdlib>
#include <mutex>

#include "memory.hpp"
#include "pool.hpp"

namespace isotopic {
namespace {

// The sizes below follow the caches: they change the speed, and the last bits through the order of
// the sums, but never with the number of threads.
constexpr int64_t range_bytes = 1 << 20;    // topics of a range of features: half a second-level cache
constexpr int64_t untiled_bytes = 4 << 20;  // topics up to this size are not cut into ranges
constexpr int64_t few_entries = 8;          // of a sample in a range
constexpr int64_t chunk_rows = 32;     // samples of a block in one chunk
constexpr int64_t column_shares = 32;  // chunks of a block's columns
constexpr int64_t chunk_elements = 16384;  // of elementwise work

void release(void* p) { std::free(p); }

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

const Interrupted never = [] { return false; };

// chunk(begin, end) over [0, n) in pieces of `size`.
bool in_chunks(int64_t n, int64_t size, int threads, const Interrupted& interrupted,
               const std::function<void(int64_t, int64_t)>& chunk) {
    Steps steps({ceil_div(n, size)}, threads);
    return steps.run([&](int64_t, int64_t i) { chunk(i * size, std::min(n, (i + 1) * size)); }, interrupted);
}

// Pieces of memory of one size, as many as there are threads that want one at the same time.
class Lent {
  public:
    explicit Lent(size_t bytes) : bytes_(bytes) {}
    Lent(const Lent&) = delete;
    ~Lent() {
        for (void* piece : free_) release(piece);
    }
    void* take() {
        {
            const std::lock_guard<std::mutex> lock(busy_);
            if (!free_.empty()) {
                void* piece = free_.back();
                free_.pop_back();
                return piece;
            }
        }
        return allocate(bytes_);
    }
    void give_back(void* piece) {
        const std::lock_guard<std::mutex> lock(busy_);
        free_.push_back(piece);
    }

  private:
    const size_t bytes_;
    std::mutex busy_;
    std::vector<void*> free_;
};

// The pass as steps. The first pads the topics, the last multiplies their sums by them. In between
// stand, block by block, a step for each range of features that sweeps the rows; when the topics
// are small there is one range. The columns of a block are swept together with the first range of
// the next one: they touch different memory (the blocks' buffers alternate), so nobody waits twice.
template <class T> class Pass {
  public:
    Pass(const Matrix<T>& x, int64_t components, const T* weights, const T* topics, T* weight_counts, T* topic_counts,
         double* log_likelihoods, Workspace& kept)
        : x_(x), kernels_(kernels_of<T>(current_level())), wants_topics_(topic_counts != nullptr), lock_(kept.busy, std::try_to_lock) {
        Workspace& workspace = lock_.owns_lock() ? kept : own_;
        const int64_t registers = ceil_div(components, kernels_.lanes), padded = registers * kernels_.lanes;
        int64_t most_rows = 0, most_entries = 0;
        for (int64_t b = 0; b < x.n_blocks; ++b) {
            most_rows = std::max(most_rows, x.block_rows[b + 1] - x.block_rows[b]);
            most_entries = std::max(most_entries, x.row_starts[x.block_rows[b + 1]] - x.row_starts[x.block_rows[b]]);
        }
        T* padded_topics = workspace.get<T>(0, x.n_features * padded);
        T* topic_sums = wants_topics_ ? workspace.get<T>(1, x.n_features * padded) : nullptr;
        T* block_sums = workspace.get<T>(2, most_rows * padded);
        int64_t* cursors = workspace.get<int64_t>(3, most_rows);
        topics_ = {components, padded, features_that_occur(workspace), topics, padded_topics, topic_sums, topic_counts};
        const int64_t range_features = features_in_cache(padded);
        ranges_ = std::max<int64_t>(1, ceil_div(x.n_features, range_features));
        for (int i = 0; i < 2; ++i)
            blocks_[i] = {x.row_starts[x.n_samples], x.row_starts, x.row_starts + 1, x.features, x.values, x.column_features, x.column_starts,
                          x.entry_rows, x.entry_order, components, registers, x.n_features, range_features, weights,
                          padded_topics, 0, 0, workspace.get<T>(4 + i, most_rows * padded), block_sums, cursors,
                          wants_topics_ ? workspace.get<T>(6 + i, most_entries) : nullptr, weight_counts, log_likelihoods, topic_sums};
    }

    bool run(int threads, const Interrupted& interrupted) {
        const int64_t feature_chunks = ceil_div(x_.n_features, chunk_features());
        std::vector<int64_t> chunks{feature_chunks};
        for (int64_t step = 0; step < x_.n_blocks * ranges_; ++step)
            chunks.push_back(chunks_of_columns(step) + chunks_of_rows(step / ranges_));
        if (wants_topics_) {
            chunks.push_back(x_.n_blocks ? column_shares : 0);
            chunks.push_back(feature_chunks);
        }
        const int64_t last_rows = x_.n_blocks * ranges_;
        Steps steps(std::move(chunks), threads);
        return steps.run(
            [&](int64_t step, int64_t i) {
                if (step == 0)
                    kernels_.pad(topics_, i * chunk_features(), end_of_features(i));
                else if (step == last_rows + 1)
                    columns(x_.n_blocks - 1, i);
                else if (step == last_rows + 2)
                    kernels_.finish(topics_, i * chunk_features(), end_of_features(i));
                else if (i < chunks_of_columns(step - 1))
                    columns((step - 1) / ranges_ - 1, i);
                else
                    rows(step - 1, i - chunks_of_columns(step - 1));
            },
            interrupted);
    }

  private:
    // A few samples do not need all topics; null when it is not worth asking.
    const bool* features_that_occur(Workspace& workspace) const {
        const int64_t entries = x_.row_starts[x_.n_samples];
        if (wants_topics_ || entries >= x_.n_features) return nullptr;
        bool* occurs = workspace.get<bool>(1, x_.n_features);
        std::fill(occurs, occurs + x_.n_features, false);
        for (int64_t e = 0; e < entries; ++e) occurs[x_.features[e]] = true;
        return occurs;
    }

    // Ranges of features pay when the topics are far larger than the second-level cache, and not
    // when they leave a sample with a handful of entries in each. Where the weights alone are
    // wanted there is one range, because a sample's bits must not depend on the samples around it.
    int64_t features_in_cache(int64_t padded) const {
        const int64_t bytes = int64_t(padded * sizeof(T)), entries = x_.row_starts[x_.n_samples];
        if (!wants_topics_ || bytes * x_.n_features <= untiled_bytes) return std::max<int64_t>(1, x_.n_features);
        return std::max({int64_t(1), range_bytes / bytes, int64_t(double(few_entries) * double(x_.n_features) * double(x_.n_samples) / double(std::max<int64_t>(entries, 1)))});
    }

    int64_t chunk_features() const { return std::max<int64_t>(1, chunk_elements / topics_.padded); }
    int64_t end_of_features(int64_t i) const { return std::min(x_.n_features, (i + 1) * chunk_features()); }
    int64_t chunks_of_rows(int64_t b) const { return ceil_div(x_.block_rows[b + 1] - x_.block_rows[b], chunk_rows); }
    // Columns of the block before, in the step of the first range.
    int64_t chunks_of_columns(int64_t step) const {
        return wants_topics_ && step > 0 && step % ranges_ == 0 ? column_shares : 0;
    }

    Block<T> block(int64_t b) const {
        Block<T> block = blocks_[b % 2];
        block.first_row = x_.block_rows[b];
        block.first_entry = x_.row_starts[block.first_row];
        if (wants_topics_) {
            block.column_features += x_.block_columns[b];
            block.column_starts = starts_of_columns(b);
            block.entry_rows += block.first_entry;
            block.entry_order += block.first_entry;
        }
        return block;
    }

    void rows(int64_t step, int64_t i) const {
        const int64_t b = step / ranges_;
        const Block<T> block = this->block(b);
        const int64_t begin = block.first_row + i * chunk_rows, end = std::min(x_.block_rows[b + 1], begin + chunk_rows);
        kernels_.rows(block, begin, end, step % ranges_ * block.range_features);
    }

    void columns(int64_t b, int64_t i) const {
        kernels_.columns(block(b), column_of_share(b, i), column_of_share(b, i + 1));
    }

    // Where the i-th of equal shares of a block's entries begins among its columns.
    int64_t column_of_share(int64_t b, int64_t i) const {
        const uint32_t *first = starts_of_columns(b), *last = first + (x_.block_columns[b + 1] - x_.block_columns[b]);
        return std::lower_bound(first, last, uint32_t(int64_t(*last) * i / column_shares)) - first;
    }
    const uint32_t* starts_of_columns(int64_t b) const { return x_.column_starts + x_.block_columns[b] + b; }

    const Matrix<T>& x_;
    const Kernels<T>& kernels_;
    const bool wants_topics_;
    int64_t ranges_;  // of features
    Workspace own_;  // used when another thread has the one that is kept
    std::unique_lock<std::mutex> lock_;
    Topics<T> topics_;
    Block<T> blocks_[2];
};

}  // namespace

Workspace::~Workspace() {
    for (Slot& slot : slots) release(slot.memory);
}

void* Workspace::get_bytes(int slot, size_t bytes) {
    Slot& kept = slots[slot];
    if (bytes > kept.bytes) {
        release(kept.memory);
        kept = {};
        kept.memory = allocate(bytes);
        kept.bytes = bytes;
    }
    return kept.memory;
}

template <class T>
bool expected_counts(const Matrix<T>& x, int64_t components, const T* weights, const T* topics, T* weight_counts,
                     T* topic_counts, double* log_likelihoods, Workspace& workspace, int threads,
                     const Interrupted& interrupted) {
    Pass<T> pass(x, components, weights, topics, weight_counts, topic_counts, log_likelihoods, workspace);
    return pass.run(threads, interrupted);
}

template <class T> int64_t padded_components(int64_t components) {
    const int64_t lanes = kernels_of<T>(current_level()).lanes;
    return ceil_div(components, lanes) * lanes;
}

template <class T> Padded<T> padded_topics(int64_t n_features, int64_t components, const T* topics, int threads) {
    const int64_t padded = padded_components<T>(components), size = std::max<int64_t>(1, chunk_elements / padded);
    Padded<T> made(static_cast<T*>(allocate(size_t(std::max<int64_t>(1, n_features * padded)) * sizeof(T))), release);
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    in_chunks(n_features, size, threads, never, [&](int64_t begin, int64_t end) {
        kernels.pad({components, padded, nullptr, topics, made.get(), nullptr, nullptr}, begin, end);
    });
    return made;
}

// The samples of a chunk have their padded weights and sums in memory that stays in the cache.
template <class T>
bool row_pass(const Rows<T>& x, int64_t components, const T* weights, const T* topics, T* weight_counts,
              double* log_likelihoods, int threads, const Interrupted& interrupted) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t padded = padded_components<T>(components), features = std::max<int64_t>(1, x.n_features);
    Lent lent(size_t(chunk_rows) * (2 * size_t(padded) * sizeof(T) + sizeof(int64_t)));
    return in_chunks(x.n_rows, chunk_rows, threads, interrupted, [&](int64_t begin, int64_t end) {
        T* memory = static_cast<T*>(lent.take());
        T* sums = memory + chunk_rows * padded;
        int64_t* cursors = reinterpret_cast<int64_t*>(sums + chunk_rows * padded);
        kernels.rows({x.n_entries, x.starts, x.ends, x.features, x.values, nullptr, nullptr, nullptr, nullptr, components,
                      padded / kernels.lanes, features, features, weights, topics, begin, 0, memory, sums, cursors, nullptr,
                      weight_counts, log_likelihoods, nullptr},
                     begin, end, 0);
        lent.give_back(memory);
    });
}

template <class T>
bool divide(int64_t rows, int64_t columns, const T* x, T* product, double* log_likelihoods, int threads,
            const Interrupted& interrupted) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return in_chunks(rows, std::max<int64_t>(1, chunk_elements / std::max<int64_t>(columns, 1)), threads, interrupted,
                     [&](int64_t begin, int64_t end) {
                         for (int64_t i = begin; i < end; ++i)
                             log_likelihoods[i] = kernels.divide(x + i * columns, product + i * columns, columns);
                     });
}

template <class T>
bool effective_factor(const Posterior<T>& posterior, int64_t rows, int threads, const Interrupted& interrupted) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return in_chunks(rows, std::max<int64_t>(1, chunk_elements / 8 / std::max<int64_t>(posterior.columns, 1)), threads,
                     interrupted, [&](int64_t begin, int64_t end) { kernels.posterior(posterior, begin, end); });
}

template <class T>
double distance(const T* a, const T* b, const double* row_scale, const double* column_scale, int64_t rows, int64_t columns,
                int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t size = std::max<int64_t>(1, chunk_elements / std::max<int64_t>(columns, 1));
    std::vector<double> parts(size_t(ceil_div(rows, size)));
    in_chunks(rows, size, threads, never, [&](int64_t begin, int64_t end) {
        parts[size_t(begin / size)] = kernels.distance(a, b, row_scale, column_scale, columns, begin, end);
    });
    double total = 0;
    for (double part : parts) total += part;
    return total;
}

template <class T> void row_distances(const T* a, const T* b, int64_t rows, int64_t columns, double* to, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    in_chunks(rows, std::max<int64_t>(1, chunk_elements / std::max<int64_t>(columns, 1)), threads, never,
              [&](int64_t begin, int64_t end) {
                  for (int64_t i = begin; i < end; ++i) to[i] = kernels.distance(a, b, nullptr, nullptr, columns, i, i + 1);
              });
}

template <class T>
void sums(const T* a, int64_t rows, int64_t columns, bool by_column, double* to, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t size = std::max<int64_t>(1, chunk_elements / std::max<int64_t>(columns, 1));
    if (!by_column) {
        in_chunks(rows, size, threads, never, [&](int64_t begin, int64_t end) { kernels.row_sums(a, columns, begin, end, to); });
        return;
    }
    std::vector<double> parts(size_t(ceil_div(rows, size) * columns));
    in_chunks(rows, size, threads, never, [&](int64_t begin, int64_t end) {
        kernels.column_sums(a, columns, begin, end, parts.data() + begin / size * columns);
    });
    std::fill(to, to + columns, 0.0);
    for (size_t i = 0; i < parts.size(); ++i) to[int64_t(i) % columns] += parts[i];
}

template <class T>
void normalize(const T* a, int64_t rows, int64_t columns, bool by_column, const double* sums, T* to, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t size = std::max<int64_t>(1, chunk_elements / std::max<int64_t>(columns, 1));
    const int64_t n = by_column ? columns : rows, length = by_column ? rows : columns;
    std::vector<double> scale(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) scale[size_t(i)] = sums[i] == 0 ? 0 : 1 / sums[i];
    in_chunks(rows, size, threads, never, [&](int64_t begin, int64_t end) {
        kernels.scale(a, by_column ? nullptr : scale.data(), by_column ? scale.data() : nullptr, columns, begin, end, to);
    });
    for (int64_t i = 0; i < n; ++i) {
        if (sums[i] != 0) continue;
        for (int64_t j = 0; j < length; ++j) to[by_column ? j * columns + i : i * columns + j] = T(1) / T(length);
    }
}

template <class T> void extrapolate(const Extrapolation<T>& extrapolation, int64_t rows, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    in_chunks(rows, std::max<int64_t>(1, chunk_elements / 8 / std::max<int64_t>(extrapolation.columns, 1)), threads, never,
              [&](int64_t begin, int64_t end) { kernels.extrapolate(extrapolation, begin, end); });
}

template <class T>
bool squared_shares(const Shared<T>& shared, int64_t rows, int threads, const Interrupted& interrupted) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return in_chunks(rows, chunk_rows, threads, interrupted,
                     [&](int64_t begin, int64_t end) { kernels.squared_shares(shared, begin, end); });
}

template <class T>
bool descend(Descent<T> descent, int64_t rows, int64_t n_features, int threads, const Interrupted& interrupted) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    descent.padded = ceil_div(descent.components, kernels.lanes) * kernels.lanes;
    Workspace workspace;
    T* others = workspace.get<T>(0, n_features * descent.padded);
    const Topics<T> given{descent.components, descent.padded, nullptr, descent.others, others, nullptr, nullptr};
    in_chunks(n_features, std::max<int64_t>(1, chunk_elements / descent.padded), threads, never,
              [&](int64_t begin, int64_t end) { kernels.pad(given, begin, end); });
    descent.others = others;

    int64_t longest = 1;
    for (int64_t d = 0; d < rows; ++d) longest = std::max(longest, descent.row_starts[d + 1] - descent.row_starts[d]);
    Lent lent(size_t(ceil_div(longest, kernels.lanes) * kernels.lanes * (descent.padded + 2)) * sizeof(T));
    return in_chunks(rows, chunk_rows, threads, interrupted, [&](int64_t begin, int64_t end) {
        void* memory = lent.take();
        kernels.descend(descent, begin, end, static_cast<T*>(memory));
        lent.give_back(memory);
    });
}

#define ISOTOPIC_INSTANTIATE(T)                                                                                       \
    template bool expected_counts(const Matrix<T>&, int64_t, const T*, const T*, T*, T*, double*, Workspace&, int,          \
                                  const Interrupted&);                                                                \
    template int64_t padded_components<T>(int64_t);                                                                   \
    template Padded<T> padded_topics(int64_t, int64_t, const T*, int);                                                \
    template bool row_pass(const Rows<T>&, int64_t, const T*, const T*, T*, double*, int, const Interrupted&);        \
    template bool divide(int64_t, int64_t, const T*, T*, double*, int, const Interrupted&);                           \
    template bool effective_factor(const Posterior<T>&, int64_t, int, const Interrupted&);                            \
    template double distance(const T*, const T*, const double*, const double*, int64_t, int64_t, int);                \
    template void row_distances(const T*, const T*, int64_t, int64_t, double*, int);                                  \
    template void sums(const T*, int64_t, int64_t, bool, double*, int);                                               \
    template void normalize(const T*, int64_t, int64_t, bool, const double*, T*, int);                                \
    template void extrapolate(const Extrapolation<T>&, int64_t, int);                                                 \
    template bool squared_shares(const Shared<T>&, int64_t, int, const Interrupted&);                                  \
    template bool descend(Descent<T>, int64_t, int64_t, int, const Interrupted&);
ISOTOPIC_INSTANTIATE(float)
ISOTOPIC_INSTANTIATE(double)

}  // namespace isotopic
