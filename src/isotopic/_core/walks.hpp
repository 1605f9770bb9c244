// Gibbs sampling that computes the chances of all topics for each token, for one instruction-set
// level; see `SampleWalks` in kernels.hpp.
//
// Arrays of numbers by topic are read and written in whole vectors only, so that one that was just
// written can be read again at once.
#pragma once
#if defined(__SSE__)
#include <immintrin.h>
#endif
#include "kernels.hpp"
#include "random.hpp"
#include "simd.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr int walk_lanes = simd<float>::lanes;
constexpr int n_walks = 4;
constexpr int64_t walk_ahead = 4;
constexpr int tokens_between = 32;  // from one update of the totals' inverses to the next
constexpr int64_t line = 64 / sizeof(float);

// Returns how many of the numbers are at most `most`.
inline int count_up_to(vec<float> numbers, vec<float> most) {
#if defined(__AVX512F__)
    return __builtin_popcount(_mm512_cmp_ps_mask(__m512(numbers), __m512(most), _CMP_LE_OQ));
#elif defined(__AVX__)
    return __builtin_popcount(_mm256_movemask_ps(__m256(numbers <= most)));
#else
    int n = 0;
    for (int i = 0; i < walk_lanes; ++i) n += numbers[i] <= most[i];
    return n;
#endif
}

// Lane i becomes lane i - Width; the first lanes become zero.
template <int Width, int... I>
inline vec<float> moved_up(vec<float> v, std::integer_sequence<int, I...>) {
    using Lanes = std::integer_sequence<int, (I >= Width ? walk_lanes + I - Width : 0)...>;
    return choose<float>(vec<float>{}, v, Lanes{});
}

// Each lane becomes the sum up to it.
inline vec<float> cumulative(vec<float> v) {
    constexpr auto all = std::make_integer_sequence<int, walk_lanes>{};
    v += moved_up<1>(v, all);
    v += moved_up<2>(v, all);
    if constexpr (walk_lanes > 4) v += moved_up<4>(v, all);
    if constexpr (walk_lanes > 8) v += moved_up<8>(v, all);
    return v;
}

// Every lane becomes the last one.
template <int... I> inline vec<float> last_of(vec<float> v, std::integer_sequence<int, I...>) {
    using Lanes = std::integer_sequence<int, 0 * I + walk_lanes - 1 ...>;
    return choose<float>(v, v, Lanes{});
}

// One in the middle of zeros: read from the right place, it is a vector with a one in some lane.
struct OneAmongZeros {
    float numbers[2 * walk_lanes] = {};
    constexpr OneAmongZeros() { numbers[walk_lanes] = 1; }
};
constexpr OneAmongZeros one_among_zeros;

// Changes one number of an array. With Clipped it stays positive; whole numbers do anyway.
template <bool Clipped> inline void change(float* numbers, uint32_t at, float by) {
    const uint32_t lane = at % walk_lanes;
    float* whole = numbers + (at - lane);
    vec<float> v = load<float>(whole) +
                   by * load_unaligned<float>(one_among_zeros.numbers + walk_lanes - lane);
    if (Clipped) v = v > 0.0f ? v : vec<float>{};
    store<float>(whole, v);
}

// A sample on its way through its tokens.
struct Walk {
    int64_t sample = -1, token = 0, last = 0;
    float *counts = nullptr, *sums = nullptr;
    float copies = 1;
    Random random;
};

// With `Vectors` known when it is compiled, or zero. With Plain, every token and sample counts one.
template <int Vectors, bool Plain> struct Sweep {
    const SampleWalks w;
    const int64_t padded = Vectors ? Vectors * walk_lanes : w.padded;

    void begin(Walk& walk, int64_t sample) const {
        walk.sample = sample;
        walk.token = w.token_starts[sample], walk.last = w.token_starts[sample + 1];
        walk.copies = w.copies[sample];
        walk.random = Random(w.seed, w.sweep, uint64_t(sample));
        for (int64_t k = 0; k < padded; k += walk_lanes)
            store<float>(walk.counts + k, vec<float>{});
        for (int64_t t = walk.token; t < walk.last; ++t)
            walk.counts[w.assignments[t]] += Plain ? 1.0f : w.token_sizes[t];
    }

    void add_to_mean(const Walk& walk) const {
        float* mean = w.mean_weights + walk.sample * w.components;
        for (int64_t k = 0; k < w.components; ++k) mean[k] += w.share * walk.counts[k];
    }

    void invert_totals() const {
        for (int64_t k = 0; k < padded; k += walk_lanes) {
            const vec<float> totals = load<float>(w.totals + k);
            const vec<float> positive = totals > 0.0f ? totals : vec<float>{};
            store<float>(w.inverse + k, 1.0f / (positive + w.eta_sum));
        }
    }

    // Draws the topic of a sample's next token. The totals of all topics change by it, but their
    // inverses only after some tokens: by then, they differ little.
    void step(Walk& walk) const {
        const int64_t token = walk.token++;
        const float* next = w.counts + w.token_features[token + walk_ahead] * padded;
        for (int64_t k = 0; k < padded; k += line) __builtin_prefetch(next + k);
        const float size = Plain ? 1.0f : w.token_sizes[token];
        const float of_topic = Plain ? 1.0f : size * walk.copies;
        float *row = w.counts + w.token_features[token] * padded, *counts = walk.counts;
        const uint32_t old = uint32_t(w.assignments[token]);
        change<!Plain>(counts, old, -size);
        change<!Plain>(row, old, -of_topic);
        vec<float> sum{};
        for (int64_t k = 0; k < padded; k += walk_lanes) {
            const vec<float> weight = load<float>(counts + k) + load<float>(w.alpha + k);
            sum += weight * (load<float>(row + k) + w.eta) * load<float>(w.inverse + k);
            store<float>(walk.sums + k, sum);
        }
        const uint32_t drawn = draw(sum, walk.sums, walk.random.next());
        change<!Plain>(counts, drawn, size);
        change<!Plain>(row, drawn, of_topic);
        w.totals[old] -= of_topic;
        w.totals[drawn] += of_topic;
        w.assignments[token] = int32_t(drawn);
    }

    // Draws a lane, then a topic in it.
    uint32_t draw(vec<float> sum, const float* sums, float random) const {
        const vec<float> up_to = cumulative(sum);
        const vec<float> at =
            random * last_of(up_to, std::make_integer_sequence<int, walk_lanes>{});
        const vec<float> rest = at - (up_to - sum);
        ints<float> before{};  // how many topics of each lane come before the rest of that lane
        for (int64_t k = 0; k < padded - walk_lanes; k += walk_lanes)
            before -= load<float>(sums + k) <= rest;
        alignas(vector_bytes) uint32_t vectors[walk_lanes];
        __builtin_memcpy(vectors, &before, sizeof before);
        const uint32_t passed = uint32_t(count_up_to(up_to, at)),
                       lane = passed < walk_lanes ? passed : walk_lanes - 1,
                       k = vectors[lane] * walk_lanes + lane;
        const uint32_t most = uint32_t(w.components) - 1;
        return k < most ? k : most;
    }

    // Some samples take turns: while the topic of one token is searched for, the processor can
    // already compute the chances of the others'.
    void run() const {
        Walk walks[n_walks];
        for (int i = 0; i < n_walks; ++i) {
            walks[i].counts = w.memory + 2 * i * padded;
            walks[i].sums = walks[i].counts + padded;
        }
        int64_t next = w.first_sample;
        const auto goes_on = [&](Walk& walk) {
            if (walk.token < walk.last) return true;
            if (w.mean_weights && walk.sample >= 0) add_to_mean(walk);
            walk.sample = -1;
            while (next < w.last_sample && w.token_starts[next] == w.token_starts[next + 1]) ++next;
            if (next == w.last_sample) return false;
            begin(walk, next++);
            return true;
        };
        int until_update = 0;
        for (bool any = true; any;) {
            any = false;
            for (Walk& walk : walks) {
                if (!goes_on(walk)) continue;
                any = true;
                if (until_update-- == 0) invert_totals(), until_update = tokens_between;
                step(walk);
            }
        }
    }
};

template <int Vectors> inline void walk_all(const SampleWalks& walks) {
    if (walks.token_sizes)
        Sweep<Vectors, false>{walks}.run();
    else
        Sweep<Vectors, true>{walks}.run();
}

inline void walk_samples(const SampleWalks& walks) {
    switch (walks.padded / walk_lanes) {
        case 1:
            return walk_all<1>(walks);
        case 2:
            return walk_all<2>(walks);
        case 3:
            return walk_all<3>(walks);
        case 4:
            return walk_all<4>(walks);
        default:
            return walk_all<0>(walks);
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
