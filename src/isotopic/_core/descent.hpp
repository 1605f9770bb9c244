// Coordinate descent on the weights of one sample (or, of the transposed data, the topics of one
// feature), for one instruction-set level; see `Descent` in kernels.hpp.
//
// The objective of a sample is, in one weight h with the others held,
//     f(h) = slope * h - sum x log(product + (h - now) * a),
// and all that is asked of the entries are the sums at the present weight
//     pull = sum x a / product,  curvature = sum x (a / product)^2,
// so that f' = slope - pull and f'' = curvature. A weight that moves takes the products with it, and the
// same sweep over the entries makes the sums of the next weight.
#pragma once
#include "kernels.hpp"
#include "special.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// A weight falls to no less than this part of itself at a time, unless to zero, and to zero only if
// every product keeps this part: so no product is lost to rounding.
constexpr double least_part = 1.0 / 1024;

// One sample, scaled to a total of about one, its entries filled up to whole vectors with nothing.
template <class T> struct Sample {
    int64_t n, stride;  // entries, and their number in whole vectors
    T *x, *products;
    T* others;  // components x stride: the other side's factors at the entries
};

struct Sums {
    double pull, curvature;
};

// The sums of a component, after the products have moved with the one before it.
template <class T, bool Moved> Sums sweep(const Sample<T>& s, T by, const T* moved, const T* next) {
    vec<T> pull = vec<T>{}, curvature = vec<T>{};
    for (int64_t j = 0; j < s.stride; j += simd<T>::lanes) {
        vec<T> product = load<T>(s.products + j);
        if (Moved) store<T>(s.products + j, product += by * load<T>(moved + j));
        const vec<T> ratio = load<T>(next + j) * reciprocal(product), part = load<T>(s.x + j) * ratio;
        pull += part;
        curvature += part * ratio;
    }
    return {double(sum<T>(pull)), double(sum<T>(curvature))};
}

// Whether the slope outweighs the pull even where the weight is zero.
template <class T> bool falls_to_zero(const Sample<T>& s, T now, const T* others, double slope) {
    vec<T> pull = vec<T>{};
    ints<T> lost = ints<T>{};
    for (int64_t j = 0; j < s.stride; j += simd<T>::lanes) {
        const vec<T> product = load<T>(s.products + j), a = load<T>(others + j), rest = product - now * a;
        const auto small = rest < T(least_part) * product;
        lost |= small;
        pull += load<T>(s.x + j) * a * reciprocal(small ? product : rest);
    }
    return !any(lost) && double(sum<T>(pull)) <= slope;
}

// Where one weight goes; no further than to its optimum, so the objective never rises.
//
// Upwards, Newton's method for 1 / pull = 1 / slope: the left side is concave in the weight, so the
// root lies beyond. Downwards, the same for weight * pull = weight * slope, also concave: its tangent
// bounds the pull from above, so again the root lies beyond.
template <class T> double moved(const Sample<T>& s, double now, Sums sums, double slope, const T* others) {
    const double pull = sums.pull, curvature = sums.curvature, difference = pull - slope;
    if (!(slope > 0) || !(curvature < __builtin_inf())) return now;
    if (!(pull > 0) || !(curvature > 0)) return 0;
    if (difference >= 0) return now + pull * difference / (curvature * slope);
    if (now == 0) return 0;
    if (now * curvature * slope + pull * difference <= 0 && falls_to_zero<T>(s, T(now), others, slope)) return 0;
    const double part = now * curvature / (now * curvature - difference);
    return now * (part > least_part ? part : least_part);
}

// Turns a square of vectors around: lane i of vector j becomes lane j of vector i.
template <class T, int Width> struct Turn {
    template <int... I> static inline void pair(vec<T>& a, vec<T>& b, std::integer_sequence<int, I...>) {
        constexpr int L = simd<T>::lanes;
        using Lower = std::integer_sequence<int, ((I & Width) ? L + (I ^ Width) : I)...>;
        using Upper = std::integer_sequence<int, ((I & Width) ? L + I : (I ^ Width))...>;
        const vec<T> lower = choose<T>(a, b, Lower{});
        b = choose<T>(a, b, Upper{});
        a = lower;
    }
    static inline void around(vec<T>* v) {
        for (int i = 0; i < simd<T>::lanes; ++i)
            if (!(i & Width)) pair(v[i], v[i + Width], std::make_integer_sequence<int, simd<T>::lanes>{});
        Turn<T, Width / 2>::around(v);
    }
};
template <class T> struct Turn<T, 0> {
    static inline void around(vec<T>*) {}
};

// Brings the other side's factors at the entries together, by component, and makes the products.
template <class T> void gather(const Descent<T>& d, const int32_t* features, const T* weights, const Sample<T>& s) {
    constexpr int L = simd<T>::lanes;
    for (int64_t j = 0; j < s.stride; j += L) {
        vec<T> products = vec<T>{};
        for (int64_t k = 0; k < d.padded; k += L) {
            vec<T> square[L];
            for (int i = 0; i < L; ++i)
                square[i] = j + i < s.n ? load<T>(d.others + features[j + i] * d.padded + k) : vec<T>{};
            Turn<T, L / 2>::around(square);
            for (int i = 0; i < L; ++i) {
                store<T>(s.others + (k + i) * s.stride + j, square[i]);
                if (k + i < d.components) products += weights[k + i] * square[i];
            }
        }
        store<T>(s.products + j, products);
    }
}

template <class T> inline bool explains(T product, T x) {
    return product >= simd<T>::smallest_normal * (T(4) * x > T(1) ? T(4) * x : T(1));
}

// A count that the weights do not explain at all is given to the component that has most of it for its
// slope; one that no component has is left out.
template <class T> void explain(const Descent<T>& d, const Sample<T>& s, T* weights) {
    for (int64_t j = 0; j < s.n; ++j) {
        if (explains<T>(s.products[j], s.x[j])) continue;
        int64_t best = 0;
        double share = 0;
        for (int64_t k = 0; k < d.components; ++k) {
            const double here = d.slopes[k] > 0 ? double(s.others[k * s.stride + j]) / d.slopes[k] : 0.0;
            if (here > share) best = k, share = here;
        }
        const T* others = s.others + best * s.stride;
        const T by = share > 0 ? T(double(s.x[j]) / d.slopes[best]) : T(0);
        if (explains<T>(by * others[j], s.x[j])) {
            weights[best] += by;
            for (int64_t i = 0; i < s.stride; i += simd<T>::lanes)
                store<T>(s.products + i, load<T>(s.products + i) + by * load<T>(others + i));
        } else {
            s.x[j] = 0;
            s.products[j] = 1;
        }
    }
    for (int64_t j = s.n; j < s.stride; ++j) s.products[j] = 1;
}

// Copies the counts, scaled to a total of about one by a power of two, which is returned.
template <class T> double scaled(const T* values, const Sample<T>& s) {
    double total = 0;
    for (int64_t j = 0; j < s.n; ++j) total += double(values[j]);
    const double scale = total > 0 ? __builtin_ldexp(1.0, -__builtin_ilogb(total)) : 1.0;
    for (int64_t j = 0; j < s.stride; ++j) s.x[j] = j < s.n ? T(double(values[j]) * scale) : T(0);
    return scale;
}

template <class T> void descend(const Descent<T>& d, int64_t begin, int64_t end, T* memory) {
    constexpr int L = simd<T>::lanes;
    for (int64_t row = begin; row < end; ++row) {
        const int64_t first = d.row_starts[row], n = d.row_starts[row + 1] - first, stride = (n + L - 1) / L * L;
        const Sample<T> s{n, stride, memory, memory + stride, memory + 2 * stride};
        const double scale = scaled<T>(d.values + first, s), repeat = d.repeats ? d.repeats[row] : 1.0;
        T* weights = d.to + row * d.components;
        for (int64_t k = 0; k < d.components; ++k) weights[k] = T(double(d.from[row * d.components + k]) * scale);
        gather<T>(d, d.features + first, weights, s);
        explain<T>(d, s, weights);
        T by = 0;
        const T* moving = s.others;
        for (int64_t i = 0; i < d.sweeps * d.components; ++i) {
            const int64_t k = i % d.components;
            const T* others = s.others + k * s.stride;
            const Sums sums = by != 0 ? sweep<T, true>(s, by, moving, others) : sweep<T, false>(s, by, moving, others);
            const T now = weights[k];
            weights[k] = T(moved<T>(s, double(now), sums, d.slopes[k] * repeat, others));
            by = weights[k] - now;
            moving = others;
        }
        for (int64_t k = 0; k < d.components; ++k) weights[k] = T(double(weights[k]) / scale);
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
