// Accelerated EM on the weights of one sample next to known topics, for one instruction-set level;
// see `Inference` in kernels.hpp.
//
// The topics of the sample's features are gathered once, in the order in which all updates read
// them.
#pragma once
#include "descent.hpp"
#include "likelihood.hpp"
#include "tables.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// Topics of a few entries that are read twice, and should still be in the first-level cache then.
constexpr int64_t cached_bytes = 24576;

// Some entries of a sample: `n` vectors of them, from entry `at` on. The topics of these entries
// are next to each other: n vectors of the first component, n of the second, and so on.
template <class T, int n> struct Entries {
    static constexpr int size = n;
    int64_t at;
    T* topics;
    T* topic(int64_t component, int i) const {
        return topics + (component * n + i) * simd<T>::lanes;
    }
};

// Calls visit(entries) for all entries of a sample, as many at a time as the cache allows.
template <class T, class Visit>
inline void for_entries(const Sample<T>& s, int64_t padded, const Visit& visit) {
    constexpr int L = simd<T>::lanes;
    int64_t j = 0;
    const auto some = [&]<int n>(std::integer_sequence<int, n>) {
        for (; j + n * L <= s.stride; j += n * L)
            visit(Entries<T, n>{.at = j, .topics = s.others + j * padded});
    };
    if (padded * 8 * L * int64_t(sizeof(T)) <= cached_bytes) some(std::integer_sequence<int, 8>{});
    some(std::integer_sequence<int, 4>{});
    some(std::integer_sequence<int, 2>{});
    some(std::integer_sequence<int, 1>{});
}

// Copies the topics of the sample's features into the order of for_entries.
template <class T> void gather_entries(const Inference<T>& f, const int32_t* features,
                                       const Sample<T>& s) {
    constexpr int L = simd<T>::lanes;
    for_entries<T>(s, f.padded, [&](const auto& e) {
        for (int v = 0; v < e.size; ++v)
            for (int64_t k = 0; k < f.padded; k += L) {
                vec<T> square[L];
                for (int i = 0; i < L; ++i) {
                    const int64_t j = e.at + v * L + i;
                    square[i] = j < s.n ? load<T>(f.topics + features[j] * f.padded + k) : vec<T>{};
                }
                Transpose<T, L / 2>::apply(square);
                for (int i = 0; i < L; ++i) store<T>(e.topic(k + i, v), square[i]);
            }
    });
}

// Returns the products of weights and topics of some entries.
template <class T, int n> struct Products {
    vec<T> values[n] = {};
    Products(const Entries<T, n>& e, int64_t components, const T* weights) {
        for (int64_t k = 0; k < components; ++k)
            for (int i = 0; i < n; ++i) values[i] += weights[k] * load<T>(e.topic(k, i));
    }
};

// Turns the products of the effective weights with the topics into ratios, by `divide_by`, and adds
// up the counts of each component. `sums` has one vector for each padded component.
template <class T, class Divide>
void share_out(const Sample<T>& s, const Inference<T>& f, const T* weights, vec<T>* sums,
               double* counts, const Divide& divide_by) {
    constexpr int L = simd<T>::lanes;
    for (int64_t k = 0; k < f.padded; ++k) sums[k] = vec<T>{};
    for_entries<T>(s, f.padded, [&]<int n>(const Entries<T, n>& e) {
        Products<T, n> ratios(e, f.components, weights);
        for (int i = 0; i < n; ++i) {
            ratios.values[i] = divide_by(load<T>(s.x + e.at + i * L), ratios.values[i]);
            store<T>(s.products + e.at + i * L, ratios.values[i]);
        }
        for (int64_t k = 0; k < f.components; ++k) {
            vec<T> even = sums[k], odd = vec<T>{};
            for (int i = 0; i < n; ++i)
                (i % 2 ? odd : even) += ratios.values[i] * load<T>(e.topic(k, i));
            sums[k] = n > 1 ? even + odd : even;
        }
    });
    for (int64_t k = 0; k < f.components; k += L) {
        vec<T> square[L];
        for (int i = 0; i < L; ++i) square[i] = sums[k + i];
        const vec<T> totals = sums_of<T>(square);
        for (int i = 0; i < L && k + i < f.components; ++i)
            counts[k + i] = double(weights[k + i]) * double(totals[i]);
    }
}

template <class T>
double log_likelihood_of(const Sample<T>& s, const Inference<T>& f, const T* weights) {
    LogLikelihood<T> log_likelihood;
    for_entries<T>(s, f.padded, [&]<int n>(const Entries<T, n>& e) {
        const Products<T, n> products(e, f.components, weights);
        for (int i = 0; i < n; ++i)
            divide<T>(load<T>(s.x + e.at + i * simd<T>::lanes), products.values[i], log_likelihood);
    });
    return log_likelihood.value();
}

// The weights of one sample: what the prior makes of its absorbed counts.
template <class T> struct SampleWeights {
    const Inference<T>& given;
    const double* prior;  // by component
    const T* others;      // by component: one minus the self-contribution; may be null
    double sum;           // of all parameters: the same for all counts of this sample
    double digamma_sum;
    double* parameters;
    double* accepted;  // the parameters of the last step that was not taken back
    double* effective_doubles;
    T* effective;
    vec<T>* sums;  // for share_out

    double part(int64_t k) const { return others ? double(others[k]) : 1.0; }

    // Computes the effective weights. Returns the term of a variational prior in the objective, up
    // to a constant.
    double absorb(const double* counts) const {
        const int64_t n = given.components;
        for (int64_t k = 0; k < n; ++k) parameters[k] = counts[k] * part(k) + prior[k];
        double term = 0;
        if (given.is_variational) {
            const double offset = given.scale ? 0.0 : digamma_sum;
            posterior<double>({.columns = n,
                               .parameters = parameters,
                               .counts = counts,
                               .row_offsets = &offset,
                               .effective = effective_doubles,
                               .terms = &term},
                              0, 1);
        } else {
            const double by = given.scale ? 1.0 : 1 / sum;
            for (int64_t k = 0; k < n; ++k) effective_doubles[k] = parameters[k] * by;
        }
        for (int64_t k = 0; k < n; ++k)
            effective[k] = T(effective_doubles[k] * (given.scale ? given.scale[k] : 1.0));
        return -term;
    }

    // Returns whether the objective may have risen since the last accepted step. `counts` are those
    // of the present weights.
    //
    // With other priors than variational ones the objective is a convex function of the weights,
    //     - log-likelihood - sum prior / others log(weight),
    // up to a part that does not depend on how the total is shared out. Going back from the present
    // weights it falls at first only if its slope in that direction is negative. If the slope is
    // not, the earlier weights are no better. That takes no logarithm.
    bool may_have_risen(const double* counts) const {
        vec<double> fall = vec<double>{};
        along_row(given.components, [&](Place k) {
            const vec<double> now = get(parameters, k, 1.0), before = get(accepted, k),
                              part = others ? get(others, k, 1.0) : fill<double>(1);
            const auto has_any = now > 0.0;
            const vec<double> change = (now - before) * reciprocal(has_any ? now : fill<double>(1)),
                              weight = get(counts, k) + get(prior, k) * reciprocal(part);
            fall += k.only_new(has_any ? weight * change : vec<double>{});
        });
        return isotopic::ISOTOPIC_LEVEL::sum<double>(fall) < 0;
    }
};

inline double distance_of(const double* a, const double* b, int64_t n) {
    return distance<double>({.columns = n, .a = a, .b = b}, 0, 1);
}

inline void extrapolate_row(const double* latest, const double* previous, int64_t n, double total,
                            double momentum, double floor, double* to) {
    extrapolate<double>({.columns = n,
                         .latest = latest,
                         .previous = previous,
                         .totals = &total,
                         .momentum = &momentum,
                         .floor = &floor,
                         .to = to},
                        0, 1);
}

inline void swap(double*& a, double*& b) {
    double* before = a;
    a = b, b = before;
}

// Buffers of one sample's counts; they change places instead of being copied.
struct CountBuffers {
    double *latest, *counts, *absorbed;
};

struct Inferred {
    double log_likelihood, residual;
    int64_t updates;
};

// Updates the weights of a sample until an update moves at most `tol` of its total, or until the
// limit of updates. A step that may raise the objective is taken back, and the next one is plain.
template <class T> Inferred infer_sample(const Sample<T>& s, SampleWeights<T>& weights,
                                         double total, CountBuffers& c) {
    const Inference<T>& given = weights.given;
    const int64_t n = given.components;
    const auto share = [&](double* to, const auto& divide_by) {
        share_out<T>(s, given, weights.effective, weights.sums, to, divide_by);
    };
    const auto ratio_of = [](vec<T> x, vec<T> product) { return ratio<T>(x, product); };
    share(c.latest, ratio_of);
    for (int64_t k = 0; k < n; ++k) c.absorbed[k] = c.latest[k];
    Inferred found{.log_likelihood = 0, .residual = __builtin_inf(), .updates = 0};
    double best = __builtin_inf(), momentum = given.first_momentum, floor = 1;
    bool is_plain = true;
    while (found.updates < given.max_updates) {
        double objective = weights.absorb(c.absorbed);
        bool is_worse = false;
        if (given.is_variational) {
            LogLikelihood<T> log_likelihood;
            share(c.counts,
                  [&](vec<T> x, vec<T> product) { return divide<T>(x, product, log_likelihood); });
            objective -= log_likelihood.value();
            is_worse = objective > best;
        } else {
            share(c.counts, ratio_of);
            is_worse = !is_plain && weights.may_have_risen(c.counts);
        }
        found.residual = distance_of(c.counts, c.absorbed, n) / total;
        ++found.updates;
        const bool has_converged = found.residual <= given.tol,
                   has_failed = !is_plain && !has_converged && is_worse;
        if (has_failed) {
            momentum = momentum / 2 > given.least_momentum ? momentum / 2 : given.least_momentum;
            floor /= 2;
            extrapolate_row(c.latest, c.latest, n, total, 0, 0, c.absorbed);
        } else {
            best = objective;
            const double grown = momentum * given.growth, limit = given.floor_to_residual;
            momentum = grown < given.most_momentum ? grown : given.most_momentum;
            floor *= given.shrinkage;
            floor = floor < limit * found.residual ? floor : limit * found.residual;
            if (!has_converged)
                extrapolate_row(c.counts, c.latest, n, total, momentum, given.first_floor * floor,
                                c.absorbed);
            swap(c.latest, c.counts);
            swap(weights.parameters, weights.accepted);
        }
        if (has_converged) break;
        is_plain = has_failed;
    }
    if (found.updates) found.log_likelihood = log_likelihood_of<T>(s, given, weights.effective);
    return found;
}

// squares[k] = sum over entries of x min(x, 1) phi^2, with the responsibilities phi of the weights
// whose ratios the sample holds.
template <class T>
void square_shares(const Sample<T>& s, const Inference<T>& f, const T* weights, T* squares) {
    constexpr int L = simd<T>::lanes;
    for (int64_t k = 0; k < f.components; ++k) squares[k] = 0;
    for_entries<T>(s, f.padded, [&]<int n>(const Entries<T, n>& e) {
        // x u phi^2 = u / x (x / product)^2 (weight * factor)^2, with u = min(x, 1)
        vec<T> by[n];
        for (int i = 0; i < n; ++i) {
            const vec<T> x = load<T>(s.x + e.at + i * L), one = fill<T>(1);
            by[i] = x > T(0) ? (x < one ? one : reciprocal(x > T(0) ? x : one)) : vec<T>{};
        }
        for (int64_t k = 0; k < f.components; ++k) {
            vec<T> total = vec<T>{};
            for (int i = 0; i < n; ++i) {
                const vec<T> count =
                    weights[k] * load<T>(e.topic(k, i)) * load<T>(s.products + e.at + i * L);
                total += by[i] * count * count;
            }
            squares[k] += sum<T>(total);
        }
    });
}

// `memory` begins with seven tables of doubles by component, each of whole vectors, and a vector
// for each component.
template <class T> void infer(const Inference<T>& f, int64_t begin, int64_t end, void* memory) {
    constexpr int L = simd<T>::lanes;
    const int64_t n = f.components, whole = (n + 7) / 8 * 8;
    double* doubles = static_cast<double*>(memory);
    CountBuffers counts{
        .latest = doubles, .counts = doubles + whole, .absorbed = doubles + 2 * whole};
    T* effective = reinterpret_cast<T*>(doubles + 6 * whole);
    vec<T>* sums = reinterpret_cast<vec<T>*>(doubles + 7 * whole);
    T* entries = reinterpret_cast<T*>(sums + f.padded);
    for (int64_t row = begin; row < end; ++row) {
        const int64_t first = f.row_starts[row], size = f.row_ends[row] - first,
                      stride = (size + L - 1) / L * L;
        const Sample<T> s{.n = size,
                          .stride = stride,
                          .x = entries,
                          .products = entries + stride,
                          .others = entries + 2 * stride};
        double total = 0, prior_sum = 0;
        for (int64_t j = 0; j < stride; ++j) s.x[j] = j < size ? f.values[first + j] : T(0);
        for (int64_t j = 0; j < size; ++j) total += double(s.x[j]);
        const double* prior = f.prior + (f.one_prior ? 0 : row * n);
        for (int64_t k = 0; k < n; ++k) prior_sum += prior[k];
        SampleWeights<T> weights{
            .given = f,
            .prior = prior,
            .others = f.others ? f.others + row * n : nullptr,
            .sum = total + prior_sum,
            .digamma_sum = gamma_functions(fill<double>(total + prior_sum)).digamma[0],
            .parameters = doubles + 3 * whole,
            .accepted = doubles + 4 * whole,
            .effective_doubles = doubles + 5 * whole,
            .effective = effective,
            .sums = sums};
        for (int64_t k = 0; k < n; ++k) counts.absorbed[k] = total / double(n);
        Inferred found{.log_likelihood = 0, .residual = 0, .updates = 0};
        if (total > 0) {
            weights.absorb(counts.absorbed);
            gather_entries<T>(f, f.features + first, s);
            found = infer_sample<T>(s, weights, total, counts);
        }
        for (int64_t k = 0; k < n; ++k) f.counts[row * n + k] = total > 0 ? T(counts.latest[k]) : 0;
        if (f.squares && total > 0) square_shares<T>(s, f, effective, f.squares + row * n);
        f.log_likelihoods[row] = found.log_likelihood;
        f.residuals[row] = found.residual;
        f.updates[row] = found.updates;
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
