// Expected counts of several runs at once, for one instruction-set level; see `Stack` in
// kernels.hpp.
//
// A vector holds the same number of several runs. So no sum goes across a vector, no component is
// padded, and each run has the same bits whatever the others are.
#pragma once
#include "likelihood.hpp"
#include "tables.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// The log-likelihoods of the runs in one vector: summed in float for a few entries, then in double.
struct RunLikelihoods {
    vec<float> recent = vec<float>{};
    vec<double> lower = vec<double>{}, upper = vec<double>{};

    void add(vec<float> x, vec<float> product) {
        vec<float> mantissa, exponent;
        split<float>(product, mantissa, exponent);
        recent += x * (exponent * 0.69314718f + log1p_reduced(mantissa - 1.0f));
    }
    void settle() {
        lower += lower_half(recent);
        upper += upper_half(recent);
        recent = vec<float>{};
    }
    void add_to(double* sums) const {
        for (int i = 0; i < simd<double>::lanes; ++i) {
            sums[i] += lower[i];
            sums[simd<double>::lanes + i] += upper[i];
        }
    }
};

// N entries of one feature, for one vector of runs. They share the loads of the topics, and their
// products do not wait for each other. K is the number of components, or 0 if it is known only at
// run time.
template <int K, int N>
inline void stacked_entries(const Stack& s, int64_t first, int part, const float* topics,
                            float* topic_sums, RunLikelihoods& likelihoods) {
    constexpr int W = stack_width;
    const int64_t components = K ? K : s.components, size = components * W;
    const float* weights[N];
    float* weight_sums[N];
    vec<float> products[N], ratios[N];
    for (int i = 0; i < N; ++i) {
        const int64_t row = s.entry_rows[first + i] * size + part;
        weights[i] = s.weights + row;
        weight_sums[i] = s.weight_counts + row;
        products[i] = vec<float>{};
    }
    for (int64_t k = 0; k < size; k += W) {
        const vec<float> topic = load<float>(topics + k);
        for (int i = 0; i < N; ++i) products[i] += load<float>(weights[i] + k) * topic;
    }
    for (int i = 0; i < N; ++i) {
        const vec<float> x = s.has_own_values ? load<float>(s.values + (first + i) * W + part)
                                              : fill<float>(s.values[first + i]);
        // A product so small that the ratio would overflow explains no count.
        const vec<float> most = 4.0f * x;
        const auto empty =
            products[i] < simd<float>::smallest_normal * (most > 1.0f ? most : fill<float>(1));
        const vec<float> product = empty ? fill<float>(simd<float>::smallest_normal) : products[i];
        likelihoods.add(x, product);
        ratios[i] = empty ? vec<float>{} : x * reciprocal(product);
    }
    for (int64_t k = 0; k < size; k += W) {
        const vec<float> topic = load<float>(topics + k);
        vec<float> sum = load<float>(topic_sums + k);
        for (int i = 0; i < N; ++i) sum += ratios[i] * load<float>(weights[i] + k);
        store<float>(topic_sums + k, sum);
        for (int i = 0; i < N; ++i)
            store<float>(weight_sums[i] + k, load<float>(weight_sums[i] + k) + ratios[i] * topic);
    }
}

// One vector of runs.
template <int K> void stacked_part(const Stack& s, int part, double* log_likelihoods) {
    constexpr int at_once = 4;
    const int64_t size = (K ? K : s.components) * stack_width;
    RunLikelihoods likelihoods;
    for (int64_t i = 0; i < s.n_segments; ++i) {
        const float* topics = s.topics + s.segment_features[i] * size + part;
        float* topic_sums = s.topic_counts + s.segment_features[i] * size + part;
        int64_t e = s.segment_starts[i];
        const int64_t end = s.segment_starts[i + 1];
        for (; e + at_once <= end; e += at_once)
            stacked_entries<K, at_once>(s, e, part, topics, topic_sums, likelihoods);
        for (; e < end; ++e) stacked_entries<K, 1>(s, e, part, topics, topic_sums, likelihoods);
        likelihoods.settle();
    }
    likelihoods.add_to(log_likelihoods + part);
}

template <int K> void stacked_pass_of(const Stack& s) {
    for (int part = 0; part < stack_width; part += simd<float>::lanes)
        stacked_part<K>(s, part, s.log_likelihoods);
}

// Multiplies the sums by the factors, and adds up how far the factors are from the new ones:
// |factor * total - counts|, with a total for each component and run, or none.
void finish_stack(const float* factors, const double* totals, float* counts, int64_t rows,
                  int64_t size, double* gaps) {
    constexpr int L = simd<float>::lanes;
    for (int64_t column = 0; column < size; column += L) {
        vec<float> total = fill<float>(1);
        if (totals)
            for (int i = 0; i < L; ++i) total[i] = float(totals[column + i]);
        vec<float> recent = vec<float>{};
        vec<double> lower = vec<double>{}, upper = vec<double>{};
        for (int64_t row = 0; row < rows; ++row) {
            const int64_t at = row * size + column;
            const vec<float> factor = load<float>(factors + at),
                             count = factor * load<float>(counts + at),
                             gap = factor * total - count;
            store<float>(counts + at, count);
            recent += gap < 0.0f ? -gap : gap;
            if (row % 64 == 63) {
                lower += lower_half(recent);
                upper += upper_half(recent);
                recent = vec<float>{};
            }
        }
        lower += lower_half(recent);
        upper += upper_half(recent);
        for (int i = 0; i < simd<double>::lanes; ++i) {
            gaps[(column + i) % stack_width] += lower[i];
            gaps[(column + simd<double>::lanes + i) % stack_width] += upper[i];
        }
    }
}

void stacked_pass(const Stack& s) {
    switch (s.components) {
        case 1:
            stacked_pass_of<1>(s);
            break;
        case 2:
            stacked_pass_of<2>(s);
            break;
        case 3:
            stacked_pass_of<3>(s);
            break;
        case 4:
            stacked_pass_of<4>(s);
            break;
        case 5:
            stacked_pass_of<5>(s);
            break;
        case 6:
            stacked_pass_of<6>(s);
            break;
        case 7:
            stacked_pass_of<7>(s);
            break;
        case 8:
            stacked_pass_of<8>(s);
            break;
        default:
            stacked_pass_of<0>(s);
    }
    const int64_t size = s.components * stack_width;
    finish_stack(s.weights, nullptr, s.weight_counts, s.n_samples, size, s.weight_gaps);
    finish_stack(s.topics, s.totals, s.topic_counts, s.n_features, size, s.topic_gaps);
}

// `extrapolate` of tables.hpp for a stack: a run has its own momentum and floor, and a row and a
// run have their own total.
void extrapolate_stack(const StackExtrapolation& e) {
    constexpr int W = stack_width, L = simd<float>::lanes;
    constexpr float smallest = simd<float>::smallest_normal;
    const int64_t size = e.components * W;
    for (int64_t row = 0; row < e.rows; ++row)
        for (int part = 0; part < W; part += L) {
            const vec<float> momentum = load_unaligned<float>(e.momentum + part),
                             total = load_unaligned<float>(e.totals + row * W + part),
                             floor = total * load_unaligned<float>(e.floor + part);
            vec<float> sums = vec<float>{};
            for (int64_t at = row * size + part; at < (row + 1) * size; at += W) {
                const vec<float> now = load<float>(e.latest + at),
                                 before = load<float>(e.previous + at);
                const auto positive = now >= smallest, moved = positive & (before >= smallest);
                const vec<float> change = moved ? now * reciprocal(before) : fill<float>(1);
                vec<float> further = now * rough_power<float>(change, momentum);
                further = further < total ? further : total;
                further = further > floor ? further : floor;
                further = positive ? further : vec<float>{};
                store<float>(e.to + at, further);
                sums += further;
            }
            const vec<float> scale = sums > 0.0f ? total * reciprocal(sums) : fill<float>(1);
            for (int64_t at = row * size + part; at < (row + 1) * size; at += W)
                store<float>(e.to + at, load<float>(e.to + at) * scale);
        }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
