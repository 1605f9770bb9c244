// How likely expected counts are positive, and what they say about a concentration.
//
// The likelihood of a concentration a needs E[log Gamma(a + count)], which bends sharply between a
// count of zero and one. So zero is treated apart: a count of the mean n is positive with a
// probability p, and is then n / p. `concentration_slopes` in kernels.py derives the formulas.
#pragma once
#include "kernels.hpp"
#include "special.hpp"
#include "tables.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// log(spread) / (spread - 1), which is 1 at 1.
inline vec<double> log_ratio(vec<double> spread) {
    const vec<double> beyond = spread - 1.0;
    const auto near = (beyond < 1e-4) & (beyond > -1e-4);
    const vec<double> ratio = log(spread) * reciprocal(near ? fill<double>(1) : beyond);
    return near ? 1.0 + beyond * (beyond * (1.0 / 3) - 0.5) : ratio;
}

// 1 - exp(-x) for x >= 0.
inline vec<double> one_minus_exp(vec<double> x) {
    const vec<double> series = x * (1.0 - x * (0.5 - x * (1.0 / 6)));
    return x < 1e-5 ? series : 1.0 - exp(-x);
}

inline vec<double> probability_of(vec<double> size, vec<double> share, vec<double> concentration,
                                  Occurs occurs) {
    if (occurs == Occurs::always) return fill<double>(1);
    if (occurs == Occurs::independently) return one_minus_exp(size);
    const vec<double> most = fill<double>(1 - 1e-9);
    share = share < most ? share : most;
    const vec<double> spread =
        (1.0 - share) * (concentration + size) * reciprocal(concentration + share * size);
    return one_minus_exp(size * log_ratio(spread));
}

// sum weight * probability * (digamma(a + size / probability) - digamma(a))
inline double rises_of(const Bins& bins, double concentration, Occurs occurs) {
    const vec<double> start = gamma_functions(fill<double>(concentration)).digamma;
    vec<double> total = vec<double>{};
    for (int64_t i = 0; i < bins.n; i += simd<double>::lanes) {
        const vec<double> weight = load_unaligned<double>(bins.weights + i);
        if (!any(weight > 0.0)) continue;
        const vec<double> size = load_unaligned<double>(bins.sizes + i);
        const vec<double> share = load_unaligned<double>(bins.shares + i);
        const vec<double> probability =
            probability_of(size, share, fill<double>(concentration), occurs);
        const vec<double> positive = size * reciprocal(probability);
        const vec<double> rise = gamma_functions(concentration + positive).digamma - start;
        total += weight * probability * rise;
    }
    return sum<double>(total);
}

// probability * (digamma(a + size / probability) - digamma(a)) of each entry, and
// digamma(A + N) - digamma(A) of the sums of each row.
template <class T> void slopes(const Slopes<T>& s, int64_t begin, int64_t end) {
    constexpr double smallest = simd<double>::smallest_normal;
    const vec<double> zero = vec<double>{}, one = fill<double>(1);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i * s.columns;
        const double* prior_of_row = s.prior + i * s.prior_row;
        vec<double> prior_sum = zero, count_sum = zero;
        along_row(s.columns, [&](Place k) {
            const vec<double> size = get(s.counts + row, k), prior = get(prior_of_row, k);
            const auto is_known = (prior > zero) & (size >= smallest);
            const vec<double> count = is_known ? size : one, start = is_known ? prior : one;
            vec<double> share = zero;
            if (s.squares) share = get(s.squares + row, k) * reciprocal(count);
            const vec<double> probability = probability_of(count, share, start, s.occurs);
            const auto occurs = is_known & (probability >= smallest);
            const vec<double> positive = count * reciprocal(occurs ? probability : one);
            const vec<double> rise =
                gamma_functions(start + positive).digamma - gamma_functions(start).digamma;
            put(s.gains + row, k, occurs ? probability * rise : zero);
            prior_sum += k.only_new(prior);
            count_sum += k.only_new(size);
        });
        const double sum_of_prior = sum<double>(prior_sum);
        vec<double> ends = fill<double>(sum_of_prior);
        ends[0] += sum<double>(count_sum);
        const vec<double> digamma = gamma_functions(ends).digamma;
        s.losses[i] = sum_of_prior > 0 ? digamma[0] - digamma[1] : 0.0;
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
