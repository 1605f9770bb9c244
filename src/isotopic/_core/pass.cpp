#include "pass.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "memory.hpp"
#include "pool.hpp"

namespace isotopic {
namespace {

// These sizes follow the caches. They change the speed and, through the order of the sums, the last
// bits, but they never depend on the number of threads.
constexpr int64_t range_bytes = 1 << 20;  // topics of a range of features: half of a level-2 cache
constexpr int64_t untiled_bytes = 16 << 20;  // topics that fit a level-3 cache are not cut
constexpr int64_t few_entries = 8;           // a range has at least so many entries of a sample
constexpr int64_t chunk_rows = 32;           // samples of a block in one chunk
constexpr int64_t column_chunks = 32;        // chunks of a block's columns
constexpr int64_t chunk_elements = 16384;    // elements of a table in one chunk
constexpr int64_t slow_chunk_elements = chunk_elements / 8;  // if each takes a special function

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Returns how many rows of a table make a chunk of so many elements.
int64_t rows_per_chunk(int64_t columns, int64_t elements = chunk_elements) {
    return std::max<int64_t>(1, elements / std::max<int64_t>(columns, 1));
}

// Calls chunk(begin, end) for all of [0, n), `size` at a time.
bool run_in_chunks(int64_t n, int64_t size, const Execution& execution,
                   const std::function<void(int64_t, int64_t)>& chunk) {
    Steps steps({ceil_div(n, size)}, execution.threads);
    return steps.run([&](int64_t, int64_t i) { chunk(i * size, std::min(n, (i + 1) * size)); },
                     execution.interrupted);
}

// Throws unless all features of the entries [first, end) are between 0 and n_features. It is called
// by the thread that needs the features next, which then finds them in its cache.
void require_features(const int32_t* features, int64_t first, int64_t end, int64_t n_features) {
    const uint32_t last = uint32_t(std::min<int64_t>(n_features, int64_t(1) << 31) - 1);
    uint32_t outside = 0;  // in its top bit; a branch for each entry would cost far more
    for (int64_t e = first; e < end; ++e)
        outside |= uint32_t(features[e]) | (last - uint32_t(features[e]));
    if (outside >> 31) throw std::invalid_argument("a feature is not among those of the topics");
}

// The same for some rows; rows that follow each other are checked together. The last vector of a
// row may reach into the next `lanes` entries, up to the end of the matrix.
void require_features(const int32_t* features, const int64_t* starts, const int64_t* ends,
                      int64_t n_rows, int64_t lanes, int64_t n_entries, int64_t n_features) {
    for (int64_t d = 0; d < n_rows;) {
        const int64_t first = starts[d];
        int64_t end = ends[d];
        while (++d < n_rows && starts[d] == end) end = ends[d];
        require_features(features, first, std::min(end + lanes, n_entries), n_features);
    }
}

// Buffers of one size, as many as there are threads that need one at the same time.
class Buffers {
  public:
    explicit Buffers(size_t bytes) : bytes_(bytes) {}
    Buffers(const Buffers&) = delete;
    ~Buffers() {
        for (void* piece : free_) deallocate(piece);
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

// A pass as a sequence of steps. The first step pads the topics, the last one multiplies their sums
// by the topics. Between them, each block has a step for each range of features that sweeps the
// rows; small topics need one range only. The columns of a block are swept together with the first
// range of the next block: the two use different memory (the blocks' buffers alternate), so no
// thread waits twice.
template <class T> class Pass {
  public:
    Pass(const Matrix<T>& x, const Factors<T>& factors, const ExpectedCounts<T>& results,
         Workspace& kept)
        : x_(x),
          kernels_(kernels_of<T>(current_level())),
          needs_topics_(results.topics != nullptr),
          lock_(kept.busy, std::try_to_lock) {
        Workspace& workspace = lock_.owns_lock() ? kept : own_;
        const int64_t registers = ceil_div(factors.components, kernels_.lanes);
        const int64_t padded = registers * kernels_.lanes;
        int64_t most_rows = 0, most_entries = 0;
        for (int64_t b = 0; b < x.n_blocks; ++b) {
            const int64_t first = x.block_rows[b], end = x.block_rows[b + 1];
            most_rows = std::max(most_rows, end - first);
            most_entries = std::max(most_entries, x.row_starts[end] - x.row_starts[first]);
        }
        topics_ = {
            .components = factors.components,
            .padded = padded,
            .needed = features_that_occur(workspace),
            .given = factors.topics,
            .topics = workspace.get<T>(0, x.n_features * padded),
            .topic_sums = needs_topics_ ? workspace.get<T>(1, x.n_features * padded) : nullptr,
            .counts = results.topics,
        };
        const int64_t range_features = features_in_cache(padded);
        ranges_ = std::max<int64_t>(1, ceil_div(x.n_features, range_features));
        T* block_sums = workspace.get<T>(2, most_rows * padded);
        int64_t* cursors = workspace.get<int64_t>(3, most_rows);
        for (int i = 0; i < 2; ++i)
            blocks_[i] = {
                .n_entries = x.row_starts[x.n_samples],
                .row_starts = x.row_starts,
                .row_ends = x.row_starts + 1,
                .features = x.features,
                .values = x.values,
                .column_features = x.column_features,
                .column_starts = x.column_starts,
                .entry_rows = x.entry_rows,
                .entry_order = x.entry_order,
                .components = factors.components,
                .registers = registers,
                .n_features = x.n_features,
                .range_features = range_features,
                .weights = factors.weights,
                .topics = topics_.topics,
                .block_weights = workspace.get<T>(4 + i, most_rows * padded),
                .block_sums = block_sums,
                .cursors = cursors,
                .ratios = needs_topics_ ? workspace.get<T>(6 + i, most_entries) : nullptr,
                .weight_counts = results.weights,
                .log_likelihoods = results.log_likelihoods,
                .topic_sums = topics_.topic_sums,
            };
    }

    bool run(const Execution& execution) {
        const int64_t feature_chunks = ceil_div(x_.n_features, chunk_features());
        std::vector<int64_t> chunks{feature_chunks};
        for (int64_t step = 0; step < x_.n_blocks * ranges_; ++step)
            chunks.push_back(chunks_of_columns(step) + chunks_of_rows(step / ranges_));
        if (needs_topics_) {
            chunks.push_back(x_.n_blocks ? column_chunks : 0);
            chunks.push_back(feature_chunks);
        }
        const int64_t last_rows = x_.n_blocks * ranges_;
        Steps steps(std::move(chunks), execution.threads);
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
            execution.interrupted);
    }

  private:
    // A few samples do not need the topics of all features. Returns which ones they need, or null
    // where finding that out would not pay.
    const bool* features_that_occur(Workspace& workspace) const {
        const int64_t entries = x_.row_starts[x_.n_samples];
        if (needs_topics_ || entries >= x_.n_features) return nullptr;
        bool* occurs = workspace.get<bool>(1, x_.n_features);
        std::fill(occurs, occurs + x_.n_features, false);
        require_features(x_.features, 0, entries, x_.n_features);
        for (int64_t e = 0; e < entries; ++e) occurs[x_.features[e]] = true;
        return occurs;
    }

    // Ranges of features pay if the topics do not fit the level-3 cache, unless a sample would have
    // only a few entries in each range. Reading topics from that cache costs less than to stop at
    // every range. If only the weights are needed there is one range, because a sample's bits must
    // not depend on the other samples.
    int64_t features_in_cache(int64_t padded) const {
        const int64_t bytes = int64_t(padded * sizeof(T)), entries = x_.row_starts[x_.n_samples];
        if (!needs_topics_ || bytes * x_.n_features <= untiled_bytes)
            return std::max<int64_t>(1, x_.n_features);
        // A sample has entries / n_samples of them in n_features features.
        const double few = double(few_entries) * double(x_.n_features) * double(x_.n_samples) /
                           double(std::max<int64_t>(entries, 1));
        return std::max({int64_t(1), range_bytes / bytes, int64_t(few)});
    }

    int64_t chunk_features() const { return rows_per_chunk(topics_.padded); }
    int64_t end_of_features(int64_t i) const {
        return std::min(x_.n_features, (i + 1) * chunk_features());
    }
    int64_t chunks_of_rows(int64_t b) const {
        return ceil_div(x_.block_rows[b + 1] - x_.block_rows[b], chunk_rows);
    }
    // The step of a block's first range also sweeps the columns of the previous block.
    int64_t chunks_of_columns(int64_t step) const {
        return needs_topics_ && step > 0 && step % ranges_ == 0 ? column_chunks : 0;
    }

    Block<T> block(int64_t b) const {
        Block<T> block = blocks_[b % 2];
        block.first_row = x_.block_rows[b];
        block.first_entry = x_.row_starts[block.first_row];
        if (needs_topics_) {
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
        const int64_t begin = block.first_row + i * chunk_rows,
                      end = std::min(x_.block_rows[b + 1], begin + chunk_rows);
        if (step % ranges_ == 0)
            require_features(x_.features, x_.row_starts[begin],
                             std::min(x_.row_starts[end] + kernels_.lanes, block.n_entries),
                             x_.n_features);
        kernels_.rows(block, begin, end, step % ranges_ * block.range_features);
    }

    void columns(int64_t b, int64_t i) const {
        kernels_.columns(block(b), first_column_of_chunk(b, i), first_column_of_chunk(b, i + 1));
    }

    // Chunks of columns have about the same number of entries.
    int64_t first_column_of_chunk(int64_t b, int64_t i) const {
        const uint32_t *first = starts_of_columns(b),
                       *last = first + (x_.block_columns[b + 1] - x_.block_columns[b]);
        return std::lower_bound(first, last, uint32_t(int64_t(*last) * i / column_chunks)) - first;
    }
    const uint32_t* starts_of_columns(int64_t b) const {
        return x_.column_starts + x_.block_columns[b] + b;
    }

    const Matrix<T>& x_;
    const Kernels<T>& kernels_;
    const bool needs_topics_;
    int64_t ranges_;  // of features
    Workspace own_;   // used if another thread holds the one that is kept
    std::unique_lock<std::mutex> lock_;
    TopicBuffers<T> topics_;
    Block<T> blocks_[2];
};

}  // namespace

Workspace::~Workspace() {
    for (Slot& slot : slots) deallocate(slot.memory);
}

void* Workspace::get_bytes(int slot, size_t bytes) {
    Slot& kept = slots[slot];
    if (bytes > kept.bytes) {
        deallocate(kept.memory);
        kept = {};
        kept.memory = allocate(bytes);
        kept.bytes = bytes;
    }
    return kept.memory;
}

template <class T>
bool expected_counts(const Matrix<T>& x, const Factors<T>& factors,
                     const ExpectedCounts<T>& results, Workspace& workspace,
                     const Execution& execution) {
    return Pass<T>(x, factors, results, workspace).run(execution);
}

template <class T> int64_t padded_components(int64_t components) {
    const int64_t lanes = kernels_of<T>(current_level()).lanes;
    return ceil_div(components, lanes) * lanes;
}

template <class T>
Padded<T> pad_topics(int64_t n_features, int64_t components, const T* topics, int threads) {
    const int64_t padded = padded_components<T>(components);
    const size_t size = size_t(std::max<int64_t>(1, n_features * padded));
    Padded<T> result(static_cast<T*>(allocate(size * sizeof(T))), deallocate);
    const TopicBuffers<T> buffers{
        .components = components, .padded = padded, .given = topics, .topics = result.get()};
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    run_in_chunks(n_features, rows_per_chunk(padded), {.threads = threads},
                  [&](int64_t begin, int64_t end) { kernels.pad(buffers, begin, end); });
    return result;
}

// The samples of a chunk have their padded weights and sums in memory that stays in the cache.
template <class T>
bool row_pass(const Rows<T>& x, const Factors<T>& factors, const ExpectedCounts<T>& results,
              const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t padded = padded_components<T>(factors.components);
    const int64_t n_features = std::max<int64_t>(1, x.n_features);
    Buffers buffers(size_t(chunk_rows) * (2 * size_t(padded) * sizeof(T) + sizeof(int64_t)));
    return run_in_chunks(x.n_rows, chunk_rows, execution, [&](int64_t begin, int64_t end) {
        require_features(x.features, x.starts + begin, x.ends + begin, end - begin, kernels.lanes,
                         x.n_entries, x.n_features);
        T* weights = static_cast<T*>(buffers.take());
        T* sums = weights + chunk_rows * padded;
        const Block<T> block{
            .n_entries = x.n_entries,
            .row_starts = x.starts,
            .row_ends = x.ends,
            .features = x.features,
            .values = x.values,
            .components = factors.components,
            .registers = padded / kernels.lanes,
            .n_features = n_features,
            .range_features = n_features,
            .weights = factors.weights,
            .topics = factors.topics,
            .first_row = begin,
            .block_weights = weights,
            .block_sums = sums,
            .cursors = reinterpret_cast<int64_t*>(sums + chunk_rows * padded),
            .weight_counts = results.weights,
            .log_likelihoods = results.log_likelihoods,
        };
        kernels.rows(block, begin, end, 0);
        buffers.give_back(weights);
    });
}

template <class T>
bool divide(const Table<const T>& x, T* product, double* log_likelihoods,
            const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return run_in_chunks(
        x.rows, rows_per_chunk(x.columns), execution, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                const int64_t row = i * x.columns;
                log_likelihoods[i] = kernels.divide(x.data + row, product + row, x.columns);
            }
        });
}

template <class T>
bool effective_factor(const Posterior<T>& posterior, int64_t rows, const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return run_in_chunks(
        rows, rows_per_chunk(posterior.columns, slow_chunk_elements), execution,
        [&](int64_t begin, int64_t end) { kernels.posterior(posterior, begin, end); });
}

template <class T>
bool mean_posterior(const MeanPosterior<T>& posterior, int64_t rows, const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return run_in_chunks(
        rows, rows_per_chunk(posterior.columns, slow_chunk_elements), execution,
        [&](int64_t begin, int64_t end) { kernels.mean_posterior(posterior, begin, end); });
}

template <class T>
bool concentration_slopes(const Slopes<T>& slopes, int64_t rows, const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return run_in_chunks(rows, rows_per_chunk(slopes.columns, slow_chunk_elements), execution,
                         [&](int64_t begin, int64_t end) { kernels.slopes(slopes, begin, end); });
}

template <class T> double distance(const Difference<T>& difference, int64_t rows, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t size = rows_per_chunk(difference.columns);
    std::vector<double> parts(size_t(ceil_div(rows, size)));
    run_in_chunks(rows, size, {.threads = threads}, [&](int64_t begin, int64_t end) {
        parts[size_t(begin / size)] = kernels.distance(difference, begin, end);
    });
    double total = 0;
    for (double part : parts) total += part;
    return total;
}

template <class T>
void row_distances(const Difference<T>& difference, int64_t rows, double* to, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    run_in_chunks(rows, rows_per_chunk(difference.columns), {.threads = threads},
                  [&](int64_t begin, int64_t end) {
                      for (int64_t i = begin; i < end; ++i)
                          to[i] = kernels.distance(difference, i, i + 1);
                  });
}

template <class T> void sums(const Table<const T>& a, bool by_column, double* to, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t columns = a.columns, size = rows_per_chunk(columns);
    if (!by_column) {
        run_in_chunks(a.rows, size, {.threads = threads}, [&](int64_t begin, int64_t end) {
            kernels.row_sums(a.data, columns, begin, end, to);
        });
        return;
    }
    std::vector<double> parts(size_t(ceil_div(a.rows, size) * columns));
    run_in_chunks(a.rows, size, {.threads = threads}, [&](int64_t begin, int64_t end) {
        double* part = parts.data() + begin / size * columns;
        kernels.column_sums(a.data, columns, begin, end, part);
    });
    std::fill(to, to + columns, 0.0);
    for (size_t i = 0; i < parts.size(); ++i) to[int64_t(i) % columns] += parts[i];
}

template <class T>
void normalize(const Table<const T>& a, bool by_column, const double* sums, T* to, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const int64_t n = by_column ? a.columns : a.rows, length = by_column ? a.rows : a.columns;
    std::vector<double> scale(static_cast<size_t>(n));
    for (int64_t i = 0; i < n; ++i) scale[size_t(i)] = sums[i] == 0 ? 0 : 1 / sums[i];
    const Scaling<T> scaling{
        .columns = a.columns,
        .from = a.data,
        .row_scale = by_column ? nullptr : scale.data(),
        .column_scale = by_column ? scale.data() : nullptr,
        .to = to,
    };
    run_in_chunks(a.rows, rows_per_chunk(a.columns), {.threads = threads},
                  [&](int64_t begin, int64_t end) { kernels.scale(scaling, begin, end); });
    for (int64_t i = 0; i < n; ++i) {
        if (sums[i] != 0) continue;
        for (int64_t j = 0; j < length; ++j)
            to[by_column ? j * a.columns + i : i * a.columns + j] = T(1) / T(length);
    }
}

template <class T>
void extrapolate(const Extrapolation<T>& extrapolation, int64_t rows, int threads) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    run_in_chunks(
        rows, rows_per_chunk(extrapolation.columns, slow_chunk_elements), {.threads = threads},
        [&](int64_t begin, int64_t end) { kernels.extrapolate(extrapolation, begin, end); });
}

template <class T>
bool squared_shares(const SquaredShares<T>& shares, int64_t rows, const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    return run_in_chunks(rows, chunk_rows, execution, [&](int64_t begin, int64_t end) {
        kernels.squared_shares(shares, begin, end);
    });
}

// Returns the memory for the entries of a row: counts, products, ratios and gathered factors; and
// two numbers for each component.
template <class T> static size_t entries_bytes(int64_t entries, int64_t padded) {
    const int64_t lanes = kernels_of<T>(current_level()).lanes;
    const int64_t whole = ceil_div(std::max<int64_t>(1, entries), lanes) * lanes;
    return size_t(whole * (padded + 3) + 3 * padded) * sizeof(T);
}

template <class T>
static size_t sample_bytes(const int64_t* starts, const int64_t* ends, int64_t rows,
                           int64_t padded) {
    int64_t longest = 0;
    for (int64_t d = 0; d < rows; ++d) longest = std::max(longest, ends[d] - starts[d]);
    return entries_bytes<T>(longest, padded);
}

template <class T>
bool descend(const Descent<T>& descent, int64_t rows, const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    Buffers buffers(
        sample_bytes<T>(descent.row_starts, descent.row_starts + 1, rows, descent.padded));
    return run_in_chunks(rows, chunk_rows, execution, [&](int64_t begin, int64_t end) {
        require_features(descent.features, descent.row_starts[begin], descent.row_starts[end],
                         descent.n_features);
        void* memory = buffers.take();
        kernels.descend(descent, begin, end, static_cast<T*>(memory));
        buffers.give_back(memory);
    });
}

// A thread copies the entries of a few features at a time. That takes less memory than the
// transposed counts would.
template <class T>
bool descend_features(const Matrix<T>& x, const OrderedValues<T>& ordered,
                      const Descent<T>& descent, const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    int64_t longest = 0, most = 0;  // entries of a feature, and of a chunk
    for (int64_t v = 0, some = 0; v < x.n_features; ++v) {
        some = (v % chunk_rows ? some : 0) + x.feature_entries[v];
        longest = std::max(longest, x.feature_entries[v]);
        most = std::max(most, some);
    }
    const size_t own = entries_bytes<T>(longest, descent.padded);
    const size_t counts = size_t(most) * (sizeof(T) + sizeof(int32_t));
    Buffers buffers(own + counts + (chunk_rows + 1) * sizeof(int64_t));
    return run_in_chunks(x.n_features, chunk_rows, execution, [&](int64_t begin, int64_t end) {
        char* memory = static_cast<char*>(buffers.take());
        int64_t* starts = reinterpret_cast<int64_t*>(memory + own);
        T* values = reinterpret_cast<T*>(starts + chunk_rows + 1);
        int32_t* samples = reinterpret_cast<int32_t*>(values + most);
        gather_features<T>(x, ordered, begin, end, starts, samples, values);
        Descent<T> some = descent;
        some.row_starts = starts;
        some.features = samples;
        some.values = values;
        some.from += begin * descent.components;
        some.to += begin * descent.components;
        kernels.descend(some, 0, end - begin, reinterpret_cast<T*>(memory));
        buffers.give_back(memory);
    });
}

template <class T>
bool infer(const Inference<T>& inference, int64_t rows, const Execution& execution) {
    const Kernels<T>& kernels = kernels_of<T>(current_level());
    const size_t tables = size_t(7 * ceil_div(inference.components, 8) * 8) * sizeof(double) +
                          size_t(inference.padded * kernels.lanes) * sizeof(T);
    Buffers buffers(
        tables + sample_bytes<T>(inference.row_starts, inference.row_ends, rows, inference.padded));
    return run_in_chunks(rows, chunk_rows, execution, [&](int64_t begin, int64_t end) {
        require_features(inference.features, inference.row_starts + begin,
                         inference.row_ends + begin, end - begin, 0,
                         std::numeric_limits<int64_t>::max(), inference.n_features);
        void* memory = buffers.take();
        kernels.infer(inference, begin, end, memory);
        buffers.give_back(memory);
    });
}

bool select_topics(const Selection& selection, int64_t rows, const Execution& execution) {
    const Level& level = current_level();
    const int64_t lanes = level.double_kernels.lanes, k = selection.components + 1;
    int64_t longest = 1;
    for (int64_t d = 0; d < rows; ++d)
        longest = std::max(longest, selection.row_starts[d + 1] - selection.row_starts[d]);
    const auto padded = [&](int64_t n) { return ceil_div(n, lanes) * lanes; };
    // Of the entries: 7 vectors and the topics. Of the topics: a matrix, and 15 vectors.
    const int64_t size =
        padded(longest) * (7 + selection.components) + padded(k * k) + 15 * padded(k);
    Buffers buffers(size_t(size) * sizeof(double));
    constexpr int64_t samples_at_a_time = 8;  // each of them takes long
    return run_in_chunks(rows, samples_at_a_time, execution, [&](int64_t begin, int64_t end) {
        void* memory = buffers.take();
        level.select_topics(selection, begin, end, static_cast<double*>(memory));
        buffers.give_back(memory);
    });
}

bool fit_rates(const RateFit& fit, int64_t features, const Execution& execution) {
    const Level& level = current_level();
    const int64_t lanes = level.double_kernels.lanes, k = fit.components;
    const auto padded = [&](int64_t n) { return ceil_div(n, lanes) * lanes; };
    // The tile and two vectors of its length; two matrices, and five vectors.
    const int64_t size = padded(k * rate_tile) + 2 * rate_tile + 2 * padded(k * k) + 5 * padded(k);
    Buffers buffers(size_t(size) * sizeof(double));
    constexpr int64_t features_at_a_time = 16;
    return run_in_chunks(features, features_at_a_time, execution, [&](int64_t begin, int64_t end) {
        void* memory = buffers.take();
        level.fit_rates(fit, begin, end, static_cast<double*>(memory));
        buffers.give_back(memory);
    });
}

#define ISOTOPIC_INSTANTIATE(T)                                                                  \
    template bool expected_counts(const Matrix<T>&, const Factors<T>&, const ExpectedCounts<T>&, \
                                  Workspace&, const Execution&);                                 \
    template int64_t padded_components<T>(int64_t);                                              \
    template Padded<T> pad_topics(int64_t, int64_t, const T*, int);                              \
    template bool row_pass(const Rows<T>&, const Factors<T>&, const ExpectedCounts<T>&,          \
                           const Execution&);                                                    \
    template bool divide(const Table<const T>&, T*, double*, const Execution&);                  \
    template bool effective_factor(const Posterior<T>&, int64_t, const Execution&);              \
    template bool mean_posterior(const MeanPosterior<T>&, int64_t, const Execution&);            \
    template bool concentration_slopes(const Slopes<T>&, int64_t, const Execution&);             \
    template double distance(const Difference<T>&, int64_t, int);                                \
    template void row_distances(const Difference<T>&, int64_t, double*, int);                    \
    template void sums(const Table<const T>&, bool, double*, int);                               \
    template void normalize(const Table<const T>&, bool, const double*, T*, int);                \
    template void extrapolate(const Extrapolation<T>&, int64_t, int);                            \
    template bool squared_shares(const SquaredShares<T>&, int64_t, const Execution&);            \
    template bool descend(const Descent<T>&, int64_t, const Execution&);                         \
    template bool descend_features(const Matrix<T>&, const OrderedValues<T>&, const Descent<T>&, \
                                   const Execution&);                                            \
    template bool infer(const Inference<T>&, int64_t, const Execution&);
ISOTOPIC_INSTANTIATE(float)
ISOTOPIC_INSTANTIATE(double)

}  // namespace isotopic
