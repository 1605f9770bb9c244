// Coordinate descent on the weights of one sample (or, of the transposed data, the topics of one
// feature), for one instruction-set level; see `Descent` in kernels.hpp.
//
// As a function of one weight h, with the other weights fixed, the objective of a sample is
//     f(h) = slope * h - sum x log(product + (h - now) * a).
// Only two sums over the entries are needed, both at the current weight:
//     pull = sum x a / product,  curvature = sum x (a / product)^2,
// because f' = slope - pull and f'' = curvature. When a weight changes, the products change with
// it; the same sweep over the entries updates them and computes the sums of the next weight.
#pragma once
#include "kernels.hpp"
#include "special.hpp"
#include "tiles.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// The smallest part of itself to which a weight may shrink in one step, except to zero. It becomes
// zero only if every product keeps this part, so that no product is lost to rounding.
constexpr double least_part = 1.0 / 1024;

// One sample, scaled to a total of about one. Its entries are padded with zeros to whole vectors.
template <class T> struct Sample {
    int64_t n;       // entries
    int64_t stride;  // the same, rounded up to whole vectors
    T* x;
    T* products;
    T* others;  // components x stride: the other side's factors at the entries
};

struct Sums {
    double pull, curvature;
};

// Updates the products by the change of the previous component, if it changed, and returns the sums
// of the next one.
template <class T, bool Moved> Sums sweep_entries(const Sample<T>& s, T by, const T* previous,
                                                  const T* next) {
    vec<T> pull = vec<T>{}, curvature = vec<T>{};
    for (int64_t j = 0; j < s.stride; j += simd<T>::lanes) {
        vec<T> product = load<T>(s.products + j);
        if (Moved) store<T>(s.products + j, product += by * load<T>(previous + j));
        const vec<T> ratio = load<T>(next + j) * reciprocal(product),
                     part = load<T>(s.x + j) * ratio;
        pull += part;
        curvature += part * ratio;
    }
    const Two<T> sums = sums_of_two<T>(pull, curvature);
    return {.pull = double(sums.first), .curvature = double(sums.second)};
}

// Returns whether the slope is larger than the pull even at a weight of zero.
template <class T> bool is_zero_best(const Sample<T>& s, T now, const T* others, double slope) {
    vec<T> pull = vec<T>{};
    ints<T> lost = ints<T>{};
    for (int64_t j = 0; j < s.stride; j += simd<T>::lanes) {
        const vec<T> product = load<T>(s.products + j), a = load<T>(others + j),
                     rest = product - now * a;
        const auto small = rest < T(least_part) * product;
        lost |= small;
        pull += load<T>(s.x + j) * a * reciprocal(small ? product : rest);
    }
    return !any(lost) && double(sum<T>(pull)) <= slope;
}

// Returns the new value of one weight. It never passes its optimum, so the objective never rises.
//
// Upwards this is Newton's method for 1 / pull = 1 / slope. The left side is concave in the weight,
// so a step stops before the root. Downwards it is Newton's method for weight * pull =
// weight * slope, which is concave as well: its tangent bounds the pull from above, so again a step
// stops before the root.
template <class T> double updated_weight(const Sample<T>& s, double now, Sums sums, double slope,
                                         const T* others) {
    const double pull = sums.pull, curvature = sums.curvature, difference = pull - slope;
    if (!(slope > 0) || !(curvature < __builtin_inf())) return now;
    if (!(pull > 0) || !(curvature > 0)) return 0;
    if (now * curvature * slope + pull * difference <= 0 &&
        (now == 0 || is_zero_best<T>(s, T(now), others, slope)))
        return 0;
    // Nobody can predict which way a weight goes, so there is no branch on it.
    const bool rises = difference >= 0;
    const double part = (rises ? pull * difference : now * curvature) /
                        (rises ? curvature * slope : now * curvature - difference);
    const double least = rises ? 0.0 : least_part, kept = part > least ? part : least;
    return rises ? now + kept : now * kept;
}

// Transposes a square of vectors: lane i of vector j becomes lane j of vector i.
template <class T, int Width> struct Transpose {
    template <int... I> static inline void pair(vec<T>& a, vec<T>& b,
                                                std::integer_sequence<int, I...>) {
        constexpr int L = simd<T>::lanes;
        using Lower = std::integer_sequence<int, ((I & Width) ? L + (I ^ Width) : I)...>;
        using Upper = std::integer_sequence<int, ((I & Width) ? L + I : (I ^ Width))...>;
        const vec<T> lower = choose<T>(a, b, Lower{});
        b = choose<T>(a, b, Upper{});
        a = lower;
    }
    static inline void apply(vec<T>* v) {
        for (int i = 0; i < simd<T>::lanes; ++i)
            if (!(i & Width))
                pair(v[i], v[i + Width], std::make_integer_sequence<int, simd<T>::lanes>{});
        Transpose<T, Width / 2>::apply(v);
    }
};
template <class T> struct Transpose<T, 0> {
    static inline void apply(vec<T>*) {}
};

// Copies all of the other side's factors of the sample's features, by component.
template <class T> void gather_all(const Descent<T>& d, const int32_t* features,
                                   const Sample<T>& s) {
    constexpr int L = simd<T>::lanes;
    const auto copy = [&](int64_t j, auto is_full) {
        for (int64_t k = 0; k < d.padded; k += L) {
            vec<T> square[L];
            for (int i = 0; i < L; ++i)
                square[i] = is_full || j + i < s.n
                                ? load<T>(d.others + features[j + i] * d.padded + k)
                                : vec<T>{};
            Transpose<T, L / 2>::apply(square);
            for (int i = 0; i < L; ++i) store<T>(s.others + (k + i) * s.stride + j, square[i]);
        }
    };
    int64_t j = 0;
    for (; j + L <= s.n; j += L) copy(j, std::true_type{});
    if (j < s.n) copy(j, std::false_type{});
}

// Copies those of one component.
template <class T> void gather_component(const Descent<T>& d, const int32_t* features,
                                         const Sample<T>& s, int64_t k, T* to) {
    const T* others = d.others + k;
    for (int64_t j = 0; j < s.n; ++j) to[j] = others[features[j] * d.padded];
    for (int64_t j = s.n; j < s.stride; ++j) to[j] = 0;
}

// The components whose factors were copied: most weights of a converged sample are zero and stay
// zero, and nothing is copied for them.
template <class T> struct Gathered {
    const Descent<T>& d;
    const int32_t* features;
    const Sample<T>& s;
    int32_t* places;  // by component: where its factors are; negative where they are not
    int32_t* active;  // components, in their order
    int64_t n = 0;    // that were copied

    // Lists the components for which `is_active` is true, without a branch. Returns their number.
    template <class Active> int64_t list(const Active& is_active) {
        int64_t count = 0;
        for (int64_t k = 0; k < d.components; ++k) {
            active[count] = int32_t(k);
            count += is_active(k);
        }
        return count;
    }
    // Copies the components with a positive weight, and computes the products.
    void begin(const T* weights) {
        const int64_t positive = list([&](int64_t k) { return weights[k] > 0; });
        const bool all = 4 * positive > d.components;
        if (all) gather_all<T>(d, features, s);
        n = all ? d.components : 0;
        for (int64_t k = 0; k < d.components; ++k) places[k] = all ? int32_t(k) : -1;
        for (int64_t i = 0; i < positive; ++i) of(active[i]);
        for (int64_t j = 0; j < s.stride; j += simd<T>::lanes) {
            vec<T> product = vec<T>{};
            for (int64_t i = 0; i < positive; ++i) {
                const int32_t k = active[i];
                product += weights[k] * load<T>(s.others + places[k] * s.stride + j);
            }
            store<T>(s.products + j, product);
        }
    }
    const T* of(int64_t k) {
        if (places[k] < 0) {
            places[k] = int32_t(n++);
            gather_component<T>(d, features, s, k, s.others + places[k] * s.stride);
        }
        return s.others + places[k] * s.stride;
    }
    // products += by * others
    void add(T by, const T* others) {
        for (int64_t j = 0; j < s.stride; j += simd<T>::lanes)
            store<T>(s.products + j, load<T>(s.products + j) + by * load<T>(others + j));
    }
};

// Computes the pull on each weight, also of components that were not copied.
template <class T>
void pull_all(const Descent<T>& d, const int32_t* features, const Sample<T>& s, T* ratios,
              T* pulls) {
    constexpr int L = simd<T>::lanes;
    for (int64_t j = 0; j < s.stride; j += L)
        store<T>(ratios + j, load<T>(s.x + j) * reciprocal(load<T>(s.products + j)));
    for (int64_t k = 0; k < d.padded; k += L) store<T>(pulls + k, vec<T>{});
    for_tiles<T>(d.padded / L, [&](const Tiles<T>& tile, int64_t first) {
        const Batch<T> all{.topics = d.others + first,
                           .padded = d.padded,
                           .features = features,
                           .n = int(s.n),
                           .readable = s.n};
        tile.add_topics(all, ratios, pulls + first);
    });
}

template <class T> inline bool explains(T product, T x) {
    return product >= simd<T>::smallest_normal * (T(4) * x > T(1) ? T(4) * x : T(1));
}

// Makes every product positive. A count that the weights do not explain at all is given to the
// component with the largest factor per slope. A count that no component can explain is left out.
template <class T> void explain_all(Gathered<T>& gathered, T* weights) {
    const Descent<T>& d = gathered.d;
    const Sample<T>& s = gathered.s;
    ints<T> lost = ints<T>{};
    for (int64_t j = 0; j < s.stride; j += simd<T>::lanes) {
        const vec<T> x = load<T>(s.x + j), most = T(4) * x;
        const vec<T> least = T(simd<T>::smallest_normal) * (most > T(1) ? most : fill<T>(1));
        lost |= ~(load<T>(s.products + j) >= least) & (x > T(0));
    }
    for (int64_t j = 0; any(lost) && j < s.n; ++j) {
        if (explains<T>(s.products[j], s.x[j])) continue;
        const T* factors = d.others + gathered.features[j] * d.padded;
        int64_t best = 0;
        double share = 0;
        for (int64_t k = 0; k < d.components; ++k) {
            const double here = d.slopes[k] > 0 ? double(factors[k]) / d.slopes[k] : 0.0;
            if (here > share) best = k, share = here;
        }
        const T by = share > 0 ? T(double(s.x[j]) / d.slopes[best]) : T(0);
        if (explains<T>(by * factors[best], s.x[j])) {
            weights[best] += by;
            gathered.add(by, gathered.of(best));
        } else {
            s.x[j] = 0;
            s.products[j] = 1;
        }
    }
    for (int64_t j = s.n; j < s.stride; ++j) s.products[j] = 1;
}

// Copies the counts, multiplied by the power of two that makes their total about one. Returns it.
template <class T> double copy_scaled(const T* values, const Sample<T>& s) {
    for (int64_t j = s.stride > 0 ? s.stride - simd<T>::lanes : 0; j < s.stride; ++j) s.x[j] = 0;
    for (int64_t j = 0; j < s.n; ++j) s.x[j] = values[j];
    vec<double> totals = vec<double>{};
    for (int64_t j = 0; j < s.stride; j += simd<T>::lanes) add_wide(totals, load<T>(s.x + j));
    const double total = sum<double>(totals);
    const double scale = total > 0 ? __builtin_ldexp(1.0, -__builtin_ilogb(total)) : 1.0;
    for (int64_t j = 0; j < s.stride; ++j) s.x[j] = T(double(s.x[j]) * scale);
    return scale;
}

// Every so many sweeps, from the first on, weights that are zero are tried where the pull at the
// beginning of the sweep is larger than the slope. The other sweeps go over positive weights only.
constexpr int64_t full_sweep = 4;

template <class T> void descend(const Descent<T>& d, int64_t begin, int64_t end, T* memory) {
    constexpr int L = simd<T>::lanes;
    T* pulls = memory;
    int32_t *places = reinterpret_cast<int32_t*>(memory + d.padded),
            *active = reinterpret_cast<int32_t*>(memory + 2 * d.padded);
    memory += 3 * d.padded;
    for (int64_t row = begin; row < end; ++row) {
        const int64_t first = d.row_starts[row], n = d.row_starts[row + 1] - first,
                      stride = (n + L - 1) / L * L;
        const Sample<T> s{.n = n,
                          .stride = stride,
                          .x = memory,
                          .products = memory + stride,
                          .others = memory + 3 * stride};
        T* ratios = memory + 2 * stride;
        const double scale = copy_scaled<T>(d.values + first, s),
                     repeat = d.repeats ? d.repeats[row] : 1.0;
        T* weights = d.to + row * d.components;
        for (int64_t k = 0; k < d.components; ++k)
            weights[k] = T(double(d.from[row * d.components + k]) * scale);
        Gathered<T> gathered{
            .d = d, .features = d.features + first, .s = s, .places = places, .active = active};
        gathered.begin(weights);
        explain_all<T>(gathered, weights);
        T by = 0;
        const T* previous = s.others;  // the factors of the component that changed last
        int64_t n_active = 0;
        for (int64_t sweep = 0; sweep < d.sweeps; ++sweep) {
            if (sweep % full_sweep == 0) {
                n_active = gathered.list([&](int64_t k) { return weights[k] > 0; });
                if (n_active < d.components) {
                    if (by != 0) gathered.add(by, previous);
                    by = 0;
                    pull_all<T>(d, gathered.features, s, ratios, pulls);
                    n_active = gathered.list([&](int64_t k) {
                        return (weights[k] > 0) | (double(pulls[k]) > d.slopes[k] * repeat);
                    });
                }
            }
            for (int64_t i = 0; i < n_active; ++i) {
                const int64_t k = active[i];
                const T now = weights[k];
                if (now == 0 && sweep % full_sweep != 0) continue;
                const T* others = gathered.of(k);
                const Sums sums = by != 0 ? sweep_entries<T, true>(s, by, previous, others)
                                          : sweep_entries<T, false>(s, by, previous, others);
                weights[k] =
                    T(updated_weight<T>(s, double(now), sums, d.slopes[k] * repeat, others));
                by = weights[k] - now;
                previous = others;
            }
        }
        const double back = 1 / scale;  // a power of two
        for (int64_t k = 0; k < d.components; ++k) weights[k] = T(double(weights[k]) * back);
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
