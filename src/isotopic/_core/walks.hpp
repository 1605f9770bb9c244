// Gibbs sampling that computes the chances of all topics for each token, for one instruction-set
// level; see `SampleWalks` in kernels.hpp.
//
// Some samples are on their way at the same time, and all of them draw a topic in each round. So
// the processor always has several draws to work on, and a count is written long before it is read.
#pragma once
#if defined(__SSE__)
#include <immintrin.h>
#endif
#include <algorithm>

#include "kernels.hpp"
#include "random.hpp"
#include "simd.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr int walk_lanes = simd<float>::lanes;
constexpr int most_vectors = int(most_walk_components) / walk_lanes;
constexpr int rounds_between = 8;  // from one look at the totals to the next
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

// The random numbers of some samples in one sweep: xoshiro128+ in each lane (Blackman & Vigna).
class WalkRandom {
  public:
    explicit WalkRandom(uint64_t seed) {
        for (uints<float>& part : state_) {
            uint32_t bits[walk_lanes];
            for (uint32_t& lane : bits) lane = uint32_t(mixed(seed += 0x9e3779b97f4a7c15u) >> 32);
            __builtin_memcpy(&part, bits, sizeof part);
        }
    }
    // Returns numbers from zero to almost one: one of them times a sum stays below it.
    vec<float> next() {
        auto& [a, b, c, d] = state_;
        const uints<float> bits = (a + d) >> 8, shifted = b << 9;
        c ^= a, d ^= b, b ^= c, a ^= d;
        c ^= shifted;
        d = (d << 11) | (d >> 21);
        return __builtin_convertvector(as<ints<float>>(bits), vec<float>) * (0.999999f / 16777216);
    }

  private:
    uints<float> state_[4];
};

// A sample on its way through its tokens. The next one is already taken out of all counts.
struct Walk {
    int64_t sample = 0, token = 0, last = 0;
    float *counts = nullptr, *expected = nullptr;  // of its topics; expected ones so far
    float copies = 1;
};

// With `Vectors` known when it is compiled, or zero. With Plain, every token and sample counts one.
template <int Vectors, bool Plain> class Sweep {
  public:
    explicit Sweep(const SampleWalks& walks)
        : w(walks),
          vectors_(Vectors ? Vectors : int(walks.padded / walk_lanes)),
          next_(walks.first_sample) {
        float* memory = w.memory;
        for (Walk& walk : walks_) {
            walk.counts = memory, walk.expected = memory + padded();
            memory += 2 * padded();
        }
    }

    void run() {
        WalkRandom random(mixed(w.seed ^ mixed(mixed(w.sweep + 1) + uint64_t(w.first_sample))));
        while (n_ < most_walks && begins(walks_[n_])) ++n_;
        alignas(vector_bytes) float numbers[most_walks];
        uint32_t drawn[most_walks];
        for (int round = 0; n_ > 0; ++round) {
            if (round % rounds_between == 0) invert_totals();
            for (int i = 0; i < most_walks; i += walk_lanes)
                store<float>(numbers + i, random.next());
            for (int i = 0; i < n_; ++i) drawn[i] = draw(walks_[i], numbers[i]);
            for (int i = n_; i-- > 0;)
                if (!goes_on(walks_[i], drawn[i])) std::swap(walks_[i], walks_[--n_]);
        }
    }

  private:
    int vectors() const { return Vectors ? Vectors : vectors_; }
    int64_t padded() const { return int64_t(vectors()) * walk_lanes; }

    // Begins with the next sample that has tokens, if there is one.
    bool begins(Walk& walk) {
        while (next_ < w.last_sample && w.token_starts[next_] == w.token_starts[next_ + 1]) ++next_;
        if (next_ == w.last_sample) return false;
        walk.sample = next_++;
        walk.token = w.token_starts[walk.sample], walk.last = w.token_starts[walk.sample + 1];
        walk.copies = w.copies[walk.sample];
        std::fill_n(walk.counts, padded(), 0.0f);
        for (int64_t t = walk.token; t < walk.last; ++t)
            walk.counts[w.assignments[t]] += Plain ? 1.0f : w.token_sizes[t];
        if (w.expected) std::fill_n(walk.expected, padded(), 0.0f);
        add_to_totals(walk, -1.0f);
        take_out(walk);
        return true;
    }

    // Gives a token its topic. Returns whether another one follows, of this sample or the next.
    bool goes_on(Walk& walk, uint32_t drawn) {
        w.assignments[walk.token] = int32_t(drawn);
        change(walk, drawn, 1.0f);
        if (++walk.token < walk.last) {
            take_out(walk);
            return true;
        }
        if (w.expected) add_to_mean(walk);
        add_to_totals(walk, 1.0f);
        return begins(walk);
    }

    // Takes the next token out of all counts, and fetches those of a later one.
    void take_out(const Walk& walk) const {
        change(walk, uint32_t(w.assignments[walk.token]), -1.0f);
        const float* later = row_of(walk.token + walk_ahead);
        for (int64_t k = 0; k < padded(); k += line) __builtin_prefetch(later + k);
    }

    float* row_of(int64_t token) const { return w.counts + w.token_features[token] * padded(); }

    // Adds the next token to a topic, or takes it away.
    void change(const Walk& walk, uint32_t topic, float sign) const {
        float &of_sample = walk.counts[topic], &of_topic = row_of(walk.token)[topic];
        if constexpr (Plain) {
            of_sample += sign, of_topic += sign;
        } else {
            const float size = sign * w.token_sizes[walk.token];
            of_sample = std::max(0.0f, of_sample + size);
            of_topic = std::max(0.0f, of_topic + size * walk.copies);
        }
    }

    // Adds the chances of the next token, which are its expected counts, given all others. Their
    // mean has less noise than that of drawn topics.
    void add_expected(const Walk& walk, const vec<float>* sums, float all) const {
        const float size = Plain ? 1.0f : w.token_sizes[walk.token], share = size / all;
        const float of_topic = Plain ? share : share * walk.copies;
        float* row = w.expected + w.token_features[walk.token] * padded();
        vec<float> before{};
#pragma GCC unroll 8
        for (int i = 0; i < vectors(); ++i) {
            const int64_t k = i * walk_lanes;
            const vec<float> chance = sums[i] - before;
            store<float>(row + k, load<float>(row + k) + of_topic * chance);
            store<float>(walk.expected + k, load<float>(walk.expected + k) + share * chance);
            before = sums[i];
        }
    }

    void add_to_mean(const Walk& walk) const {
        float* mean = w.mean_weights + walk.sample * w.components;
        for (int64_t k = 0; k < w.components; ++k) mean[k] += w.share * walk.expected[k];
    }

    // The totals are without the samples that are on their way.
    void add_to_totals(const Walk& walk, float sign) const {
        const float copies = sign * walk.copies;
        for (int64_t k = 0; k < padded(); k += walk_lanes)
            store<float>(w.totals + k,
                         load<float>(w.totals + k) + copies * load<float>(walk.counts + k));
    }

    // The totals of all topics change with each token, but in a few rounds they differ little.
    void invert_totals() const {
        for (int64_t k = 0; k < padded(); k += walk_lanes) {
            vec<float> totals = load<float>(w.totals + k);
            for (int i = 0; i < n_; ++i)
                totals += walks_[i].copies * load<float>(walks_[i].counts + k);
            const vec<float> positive = totals > 0.0f ? totals : vec<float>{};
            store<float>(w.inverse + k, 1.0f / (positive + w.eta_sum));
        }
    }

    // Draws the topic of the next token: a lane, then a topic in it.
    uint32_t draw(const Walk& walk, float random) const {
        const float *row = row_of(walk.token), *counts = walk.counts;
        vec<float> sums[Vectors ? Vectors : most_vectors], sum{};  // of the vectors up to each
#pragma GCC unroll 8
        for (int i = 0; i < vectors(); ++i) {
            const int64_t k = i * walk_lanes;
            const vec<float> weight = load<float>(counts + k) + load<float>(w.alpha + k);
            sums[i] = sum += weight * ((load<float>(row + k) + w.eta) * load<float>(w.inverse + k));
        }
        const vec<float> up_to = cumulative(sum);
        const vec<float> all = last_of(up_to, std::make_integer_sequence<int, walk_lanes>{});
        const vec<float> at = random * all;
        if (w.expected) add_expected(walk, sums, all[0]);
        const vec<float> rest = at - (up_to - sum);
        ints<float> before{};  // how many topics of each lane come before the rest of that lane
#pragma GCC unroll 8
        for (int i = 0; i < vectors() - 1; ++i) before -= sums[i] <= rest;
        alignas(vector_bytes) uint32_t passed[walk_lanes];
        __builtin_memcpy(passed, &before, sizeof before);
        const uint32_t lane = uint32_t(count_up_to(up_to, at)) % walk_lanes;
        return std::min(passed[lane] * walk_lanes + lane, uint32_t(w.components) - 1);
    }

    const SampleWalks w;
    const int vectors_;
    Walk walks_[most_walks];
    int n_ = 0;     // walks on their way
    int64_t next_;  // sample
};

template <int Vectors> inline void walk_all(const SampleWalks& walks) {
    if (walks.token_sizes)
        Sweep<Vectors, false>(walks).run();
    else
        Sweep<Vectors, true>(walks).run();
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
        case 5:
            return walk_all<5>(walks);
        case 6:
            return walk_all<6>(walks);
        case 7:
            return walk_all<7>(walks);
        case 8:
            return walk_all<8>(walks);
        default:
            return walk_all<0>(walks);
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
