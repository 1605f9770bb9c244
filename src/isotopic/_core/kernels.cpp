// Compiled once for each instruction-set level; see kernels.hpp for what each function does.
#include "descent.hpp"
#include "inference.hpp"
#include "rates.hpp"
#include "selection.hpp"
#include "stack.hpp"
#include "kernels.hpp"
#include "likelihood.hpp"
#include "tables.hpp"
#include "tiles.hpp"
#include "occurrence.hpp"
#include "feature_walks.hpp"
#include "topic_draws.hpp"
#include "walks.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {
namespace {

template <class T> void pad(const TopicBuffers<T>& t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
        if (t.needed && !t.needed[v]) continue;
        const T* from = t.given + v * t.components;
        T* to = t.topics + v * t.padded;
        for (int64_t k = 0; k < t.components; ++k) to[k] = from[k];
        for (int64_t k = t.components; k < t.padded; ++k) to[k] = 0;
        if (t.topic_sums)
            for (int64_t k = 0; k < t.padded; k += lanes<T>)
                store<T>(t.topic_sums + v * t.padded + k, vec<T>{});
    }
}

template <class T> void finish(const TopicBuffers<T>& t, int64_t begin, int64_t end) {
    for (int64_t v = begin; v < end; ++v) {
        const T *factor = t.topics + v * t.padded, *sums = t.topic_sums + v * t.padded;
        T* counts = t.counts + v * t.components;
        for (int64_t k = 0; k < t.components; ++k) counts[k] = factor[k] * sums[k];
    }
}

// Products become ratios.
template <class T>
void ratios_of(const T* x, int n, int64_t readable, T* products, LogLikelihood<T>& log_likelihood) {
    constexpr int L = lanes<T>;
    int j = 0;
    for (; j + L <= n; j += L)
        store<T>(products + j,
                 divide<T>(load_unaligned<T>(x + j), load<T>(products + j), log_likelihood));
    if (j < n) {
        vec<T> rest = vec<T>{};
        if (readable - j >= L)
            rest = count_up<T>() < fill<T>(T(n - j)) ? load_unaligned<T>(x + j) : rest;
        else
            for (int i = 0; i < n - j; ++i) rest[i] = x[j + i];
        store<T>(products + j, divide<T>(rest, load<T>(products + j), log_likelihood));
    }
}

// Returns how many of n ascending features are below the bound, by galloping from the front.
inline int64_t entries_below(const int32_t* features, int64_t n, int64_t bound) {
    int64_t low = 0, step = 1;
    while (low + step <= n && features[low + step - 1] < bound) low += step, step *= 2;
    int64_t high = low + step - 1 < n ? low + step - 1 : n;
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (features[middle] < bound)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// A sample's entries are processed in batches whose topics stay in the first-level cache. Each
// batch takes three sweeps: the products, then all ratios and logarithms in whole vectors, then the
// sums.
constexpr int64_t batch_bytes = 24576;
constexpr int most_batch = 256;

template <class T>
double sample_entries(const Block<T>& b, int64_t begin, int64_t end, const T* weights, T* sums) {
    const int64_t padded = b.registers * lanes<T>;
    const int64_t fits = batch_bytes / int64_t(padded * sizeof(T)) / lanes<T> * lanes<T>;
    const int batch = fits < lanes<T> ? lanes<T> : fits > most_batch ? most_batch : int(fits);
    alignas(vec<T>) T ratios[most_batch];  // before that: the products
    LogLikelihood<T> log_likelihood;
    for (int64_t p = begin; p < end; p += batch) {
        const int n = end - p < batch ? int(end - p) : batch;
        const auto batch_of = [&](int64_t first) {
            return Batch<T>{.topics = b.topics + first,
                            .padded = padded,
                            .features = b.features + p,
                            .n = n,
                            .readable = b.n_entries - p};
        };
        for_tiles<T>(b.registers, [&](const Tiles<T>& tile, int64_t first) {
            tile.products(batch_of(first), weights + first, ratios, first == 0);
        });
        ratios_of<T>(b.values + p, n, b.n_entries - p, ratios, log_likelihood);
        for_tiles<T>(b.registers, [&](const Tiles<T>& tile, int64_t first) {
            tile.add_topics(batch_of(first), ratios, sums + first);
        });
        if (b.ratios)
            __builtin_memcpy(b.ratios + (p - b.first_entry), ratios, uint64_t(n) * sizeof(T));
    }
    return log_likelihood.value();
}

template <class T> void rows(const Block<T>& b, int64_t begin, int64_t end, int64_t range_begin) {
    const int64_t padded = b.registers * lanes<T>, range_end = range_begin + b.range_features;
    const bool first_range = range_begin == 0, last_range = range_end >= b.n_features;
    for (int64_t d = begin; d < end; ++d) {
        const int64_t i = d - b.first_row;
        T *weights = b.block_weights + i * padded, *sums = b.block_sums + i * padded;
        if (first_range) {
            for (int64_t k = 0; k < b.components; ++k) weights[k] = b.weights[d * b.components + k];
            for (int64_t k = b.components; k < padded; ++k) weights[k] = 0;
            for (int64_t k = 0; k < padded; k += lanes<T>) store<T>(sums + k, vec<T>{});
            b.log_likelihoods[d] = 0;
            b.cursors[i] = b.row_starts[d];
        }
        const int64_t first = b.cursors[i], left = b.row_ends[d] - first;
        const int64_t n = last_range ? left : entries_below(b.features + first, left, range_end);
        b.cursors[i] = first + n;
        if (n) b.log_likelihoods[d] += sample_entries<T>(b, first, first + n, weights, sums);
        if (last_range)
            for (int64_t k = 0; k < b.components; ++k)
                b.weight_counts[d * b.components + k] = weights[k] * sums[k];
    }
}

template <class T> void columns(const Block<T>& b, int64_t begin, int64_t end) {
    for_tiles<T>(b.registers, [&](const Tiles<T>& tile, int64_t first) {
        tile.add_weights(b, begin, end, first);
    });
}

template <class T> double divide_all(const T* x, T* product, int64_t n) {
    LogLikelihood<T> log_likelihood;
    int64_t i = 0;
    for (; i + lanes<T> <= n; i += lanes<T>)
        store_unaligned<T>(product + i, divide<T>(load_unaligned<T>(x + i),
                                                  load_unaligned<T>(product + i), log_likelihood));
    if (i < n) {
        vec<T> rest_x = vec<T>{}, rest = fill<T>(1);
        for (int64_t j = i; j < n; ++j) rest_x[j - i] = x[j], rest[j - i] = product[j];
        rest = divide<T>(rest_x, rest, log_likelihood);
        for (int64_t j = i; j < n; ++j) product[j] = rest[j - i];
    }
    return log_likelihood.value();
}

// The square of a tiny product may underflow to zero; its share is then negligible.
template <class T> void squared_shares(const SquaredShares<T>& s, int64_t begin, int64_t end) {
    for (int64_t d = begin; d < end; ++d) {
        const T* weights = s.weights + d * s.components;
        for (int64_t e = s.row_starts[d]; e < s.row_starts[d + 1]; ++e) {
            const T* topics = s.topics + s.features[e] * s.components;
            vec<double> products = vec<double>{}, squares = vec<double>{};
            along_row(s.components, [&](Place k) {
                const vec<double> product = k.only_new(get(weights, k) * get(topics, k));
                products += product;
                squares += product * product;
            });
            const double whole = sum<double>(products);
            s.to[e] =
                whole > 0 ? T(double(s.values[e]) * (sum<double>(squares) / whole / whole)) : T(0);
        }
    }
}

void gamma_functions_of(const double* x, double* digamma, double* log_gamma, int64_t n) {
    along_row(n, [&](Place i) {
        const GammaFunctions g = gamma_functions(get(x, i, 1.0));
        put(digamma, i, g.digamma);
        put(log_gamma, i, g.log_gamma);
    });
}

template <class T>
constexpr Kernels<T> table = {
    .lanes = lanes<T>,
    .pad = pad<T>,
    .rows = rows<T>,
    .columns = columns<T>,
    .finish = finish<T>,
    .divide = divide_all<T>,
    .posterior = posterior<T>,
    .mean_posterior = mean_posterior<T>,
    .slopes = slopes<T>,
    .distance = distance<T>,
    .row_sums = row_sums<T>,
    .column_sums = column_sums<T>,
    .scale = scale<T>,
    .extrapolate = extrapolate<T>,
    .descend = descend<T>,
    .squared_shares = squared_shares<T>,
    .infer = infer<T>,
};

#define ISOTOPIC_TEXT_OF(x) #x
#define ISOTOPIC_TEXT(x) ISOTOPIC_TEXT_OF(x)

}  // namespace

extern const Level level;
const Level level = {
    .name = ISOTOPIC_TEXT(ISOTOPIC_LEVEL),
    .float_kernels = table<float>,
    .double_kernels = table<double>,
    .gamma_functions = gamma_functions_of,
    .select_topics = select_topics,
    .fit_rates = fit_rates,
    .rises = rises_of,
    .stacked_pass = stacked_pass,
    .extrapolate_stack = extrapolate_stack,
    .walk_samples = walk_samples,
    .walk_features = walk_features,
    .draw_topics = draw_topics,
};

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
