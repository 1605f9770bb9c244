// Elementwise loops over the rows of tables; see kernels.hpp for what each function does.
#pragma once
#include "kernels.hpp"
#include "special.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

template <class T> constexpr int lanes = simd<T>::lanes;

// The elementwise loops go along the rows of a table in whole vectors, either of doubles or of the
// table's own type.
inline void take(const double* from, vec<double>& v) { v = load_unaligned<double>(from); }
inline void take(const float* from, vec<float>& v) { v = load_unaligned<float>(from); }
inline void take(const float* from, vec<double>& v) {
    v = widen(reinterpret_cast<const char*>(from));
}
inline void give(double* to, vec<double> v) { store_unaligned<double>(to, v); }
inline void give(float* to, vec<float> v) { store_unaligned<float>(to, v); }
inline void give(float* to, vec<double> v) {
    const half_vec half = __builtin_convertvector(v, half_vec);
    __builtin_memcpy(to, &half, sizeof half);
}

// The place of a vector in a row: where it begins, how many of its lanes lie inside the row, and
// how many of its first lanes the previous vector has covered already. (The last vector of a row
// overlaps the one before it, so that it is full.)
template <class W> struct PlaceOf {
    int64_t at;
    int inside, seen;
    vec<W> where_new(vec<W> v, vec<W> otherwise) const {
        const vec<W> lane = count_up<W>();
        const auto is_new = (lane >= fill<W>(W(seen))) & (lane < fill<W>(W(inside)));
        return is_new ? v : otherwise;
    }
    vec<W> only_new(vec<W> v) const { return where_new(v, vec<W>{}); }
};
using Place = PlaceOf<double>;

template <class W = double, class Visit> inline void along_row(int64_t columns,
                                                               const Visit& visit) {
    constexpr int L = lanes<W>;
    if (columns < L) return visit(PlaceOf<W>{.at = 0, .inside = int(columns), .seen = 0});
    int64_t k = 0;
    for (; k + L <= columns; k += L) visit(PlaceOf<W>{.at = k, .inside = L, .seen = 0});
    if (k < columns)
        visit(PlaceOf<W>{.at = columns - L, .inside = L, .seen = int(L - (columns - k))});
}
template <class T, class W> inline vec<W> get(const T* row, PlaceOf<W> p, double outside = 0.0) {
    vec<W> v;
    if (p.inside == lanes<W>) return take(row + p.at, v), v;
    T some[lanes<W>];
    for (int j = 0; j < lanes<W>; ++j) some[j] = j < p.inside ? row[p.at + j] : T(outside);
    return take(some, v), v;
}
template <class T, class W> inline void put(T* row, PlaceOf<W> p, vec<W> v) {
    if (p.inside == lanes<W>) return give(row + p.at, v);
    T some[lanes<W>];
    give(some, v);
    for (int j = 0; j < p.inside; ++j) row[p.at + j] = some[j];
}

template <class T> void posterior(const Posterior<T>& p, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i * p.columns;
        const vec<double> row_offset = fill<double>(p.row_offsets ? p.row_offsets[i] : 0.0);
        vec<double> term = vec<double>{};
        along_row(p.columns, [&](Place k) {
            const GammaFunctions g = gamma_functions(get(p.parameters + row, k, 1.0));
            vec<double> expected = g.digamma - row_offset;
            if (p.column_offsets) expected -= get(p.column_offsets, k);
            put(p.effective + row, k, exp(expected));
            term += k.only_new(g.log_gamma - get(p.counts + row, k) * g.digamma);
        });
        p.terms[i] = sum<double>(term);
    }
}

template <class T> void mean_posterior(const MeanPosterior<T>& p, int64_t begin, int64_t end) {
    const vec<double> zero = vec<double>{}, one = fill<double>(1.0);
    for (int64_t i = begin; i < end; ++i) {
        const int64_t row = i * p.columns;
        const double* prior_of_row = p.prior + i * p.prior_row;
        const vec<double> row_scale = fill<double>(p.row_sums ? 1 / p.row_sums[i] : 1.0);
        vec<double> term = zero;
        along_row(p.columns, [&](Place k) {
            const vec<double> prior =
                p.prior_column ? get(prior_of_row, k) : fill<double>(*prior_of_row);
            const vec<double> scale = p.column_sums ? one / get(p.column_sums, k, 1.0) : row_scale;
            vec<double> others = one;
            if (p.self_contribution) others -= get(p.self_contribution + row, k);
            const vec<double> factor = others * get(p.counts + row, k) + prior;
            put(p.mean + row, k, get(p.parameters + row, k) * scale);
            if (p.effective) put(p.effective + row, k, factor * scale);
            // Forbidden entries, whose prior is zero, add nothing.
            const auto is_allowed = prior > zero;
            const vec<double> ratio = factor / (is_allowed ? prior : one);
            term += k.only_new(is_allowed ? prior / others * log(ratio) : zero);
        });
        p.terms[i] = sum<double>(term);
    }
}

template <class T> double distance(const Difference<T>& d, int64_t begin, int64_t end) {
    vec<double> total = vec<double>{};
    for (int64_t i = begin; i < end; ++i) {
        const T *a = d.a + i * d.columns, *b = d.b + i * d.columns;
        const vec<double> row_scale = fill<double>(d.row_scale ? d.row_scale[i] : 1.0);
        along_row(d.columns, [&](Place k) {
            const vec<double> scale =
                d.column_scale ? row_scale * get(d.column_scale, k) : row_scale;
            const vec<double> difference = get(a, k) - scale * get(b, k);
            total += k.only_new(difference < vec<double>{} ? -difference : difference);
        });
    }
    return sum<double>(total);
}

template <class T> void row_sums(const T* a, int64_t columns, int64_t begin, int64_t end,
                                 double* sums) {
    for (int64_t i = begin; i < end; ++i) {
        vec<double> total = vec<double>{};
        along_row(columns, [&](Place k) { total += k.only_new(get(a + i * columns, k)); });
        sums[i] = sum<double>(total);
    }
}

template <class T> void column_sums(const T* a, int64_t columns, int64_t begin, int64_t end,
                                    double* sums) {
    constexpr int L = lanes<double>;
    constexpr int together = 4;  // vectors of neighbouring columns, for which rows are read once
    int64_t done = 0;
    for (; done + together * L <= columns; done += together * L) {
        vec<double> totals[together] = {};
        for (int64_t i = begin; i < end; ++i)
            for (int j = 0; j < together; ++j) {
                vec<double> v;
                take(a + i * columns + done + j * L, v);
                totals[j] += v;
            }
        for (int j = 0; j < together; ++j) {
            double* to = sums + done + j * L;
            store_unaligned<double>(to, load_unaligned<double>(to) + totals[j]);
        }
    }
    along_row(columns, [&](Place k) {
        if (k.at + L <= done) return;
        vec<double> total = vec<double>{};
        for (int64_t i = begin; i < end; ++i) total += get(a + i * columns, k);
        put(sums, k, get(sums, k) + k.only_new(total));
    });
}

template <class T> void scale(const Scaling<T>& s, int64_t begin, int64_t end) {
    // `from` and `to` may be the same memory, so the last vector of a row must not overlap the
    // previous one.
    for (int64_t i = begin; i < end; ++i) {
        const double row_scale = s.row_scale ? s.row_scale[i] : 1.0;
        const T* from = s.from + i * s.columns;
        T* to = s.to + i * s.columns;
        int64_t k = 0;
        for (; k + lanes<double> <= s.columns; k += lanes<double>) {
            const Place here{.at = k, .inside = lanes<double>, .seen = 0};
            const vec<double> by =
                s.column_scale ? get(s.column_scale, here) : fill<double>(row_scale);
            put(to, here, by * get(from, here));
        }
        for (; k < s.columns; ++k)
            to[k] = T((s.column_scale ? s.column_scale[k] : row_scale) * double(from[k]));
    }
}

// A change by more than the format can hold counts as the largest or smallest one that it can.
template <class T> void extrapolate(const Extrapolation<T>& e, int64_t begin, int64_t end) {
    constexpr T smallest = simd<T>::smallest_normal;
    for (int64_t i = begin; i < end; ++i) {
        const T *latest = e.latest + i * e.columns, *previous = e.previous + i * e.columns;
        T* to = e.to + i * e.columns;
        const T momentum = T(e.momentum[i]);
        const vec<T> total = fill<T>(T(e.totals[i])), floor = fill<T>(T(e.floor[i] * e.totals[i]));
        vec<T> sums = vec<T>{};
        along_row<T>(e.columns, [&](PlaceOf<T> k) {
            const vec<T> now = get(latest, k), before = get(previous, k);
            const auto positive = now >= smallest, moved = positive & (before >= smallest);
            const vec<T> change = moved ? now * reciprocal(before) : fill<T>(1);
            vec<T> further = now * rough_power<T>(change, momentum);
            further = further < total ? further : total;
            further = further > floor ? further : floor;
            further = positive ? further : vec<T>{};
            put(to, k, further);
            sums += k.only_new(further);
        });
        const T sum_of_row = sum<T>(sums);
        const vec<T> scale = fill<T>(sum_of_row > 0 ? T(e.totals[i] / double(sum_of_row)) : T(1));
        along_row<T>(e.columns, [&](PlaceOf<T> k) {
            put(to, k, get(to, k) * k.where_new(scale, fill<T>(1)));
        });
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
