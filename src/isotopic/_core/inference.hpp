// Accelerated EM on the weights of one sample next to known topics, for one instruction-set level;
// see `Inference` in kernels.hpp.
//
// The topics of the sample's features are gathered once, by component, so that all updates read
// neighbouring memory that stays in the caches.
#pragma once
#include "descent.hpp"
#include "likelihood.hpp"
#include "tables.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// Turns the products of the effective weights with the topics into ratios, adds up the counts of
// each component, and returns the log-likelihood.
template <class T>
double share_out(const Sample<T>& s, int64_t components, const T* weights, double* counts) {
    constexpr int L = simd<T>::lanes, many = 4;
    LogLikelihood<T> log_likelihood;
    int64_t j = 0;
    const auto divide_some = [&]<int n>(std::integer_sequence<int, n>) {
        vec<T> products[n] = {};
        for (int64_t k = 0; k < components; ++k)
            for (int i = 0; i < n; ++i)
                products[i] += weights[k] * load<T>(s.others + k * s.stride + j + i * L);
        for (int i = 0; i < n; ++i)
            store<T>(s.products + j + i * L,
                     divide<T>(load<T>(s.x + j + i * L), products[i], log_likelihood));
        j += n * L;
    };
    while (j + many * L <= s.stride) divide_some(std::integer_sequence<int, many>{});
    while (j < s.stride) divide_some(std::integer_sequence<int, 1>{});
    for (int64_t k = 0; k < components; ++k) {
        const T* others = s.others + k * s.stride;
        vec<T> even = vec<T>{}, odd = vec<T>{};
        int64_t i = 0;
        for (; i + 2 * L <= s.stride; i += 2 * L) {
            even += load<T>(s.products + i) * load<T>(others + i);
            odd += load<T>(s.products + i + L) * load<T>(others + i + L);
        }
        if (i < s.stride) even += load<T>(s.products + i) * load<T>(others + i);
        counts[k] = double(weights[k]) * double(sum<T>(even + odd));
    }
    return log_likelihood.value();
}

// The weights of one sample: its absorbed counts and what the prior makes of them.
template <class T> struct SampleWeights {
    const Inference<T>& given;
    const double* prior;  // by component
    const T* others;      // by component: one minus the self-contribution; may be null
    double sum;           // of all parameters: the same for all counts of this sample
    double digamma_sum;
    double* parameters;
    double* effective_doubles;
    T* effective;

    // Computes the effective weights and returns the prior's term of the objective, up to a
    // constant.
    double absorb(const double* counts) const {
        const double term = given.is_variational ? absorb_variational(counts) : absorb_mean(counts);
        for (int64_t k = 0; k < given.components; ++k)
            effective[k] = T(effective_doubles[k] * (given.scale ? given.scale[k] : 1.0));
        return term;
    }
    double absorb_variational(const double* counts) const {
        for (int64_t k = 0; k < given.components; ++k) parameters[k] = counts[k] + prior[k];
        const double offset = given.scale ? 0.0 : digamma_sum;
        double term = 0;
        posterior<double>({.columns = given.components,
                           .parameters = parameters,
                           .counts = counts,
                           .row_offsets = &offset,
                           .effective = effective_doubles,
                           .terms = &term},
                          0, 1);
        return -term;
    }
    double absorb_mean(const double* counts) const {
        vec<double> term = vec<double>{};
        for (int64_t k = 0; k < given.components; ++k) {
            const double part = others ? double(others[k]) : 1.0;
            parameters[k] = counts[k] * part + prior[k];
            effective_doubles[k] = prior[k] / part;  // for the moment: the exponent
        }
        along_row(given.components, [&](Place k) {
            term += k.only_new(get(effective_doubles, k) * log(get(parameters, k, 1.0)));
        });
        const double by = given.scale ? 1.0 : 1 / sum;
        for (int64_t k = 0; k < given.components; ++k) effective_doubles[k] = parameters[k] * by;
        return -isotopic::ISOTOPIC_LEVEL::sum<double>(term);
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

// Buffers of one sample's counts; they change places instead of being copied.
struct CountBuffers {
    double *latest, *counts, *absorbed;
};

struct Inferred {
    double log_likelihood, residual;
    int64_t updates;
};

// Updates the weights of a sample until an update moves at most `tol` of its total, or until the
// limit of updates. A step that raises the objective is taken back, and the next one is plain.
template <class T> Inferred infer_sample(const Sample<T>& s, const SampleWeights<T>& weights,
                                         double total, CountBuffers& c) {
    const Inference<T>& given = weights.given;
    const int64_t n = given.components;
    share_out<T>(s, n, weights.effective, c.latest);
    for (int64_t k = 0; k < n; ++k) c.absorbed[k] = c.latest[k];
    Inferred found{.log_likelihood = 0, .residual = __builtin_inf(), .updates = 0};
    double best = __builtin_inf(), momentum = given.first_momentum, floor = 1;
    bool is_plain = true;
    while (found.updates < given.max_updates) {
        const double term = weights.absorb(c.absorbed);
        found.log_likelihood = share_out<T>(s, n, weights.effective, c.counts);
        found.residual = distance_of(c.counts, c.absorbed, n) / total;
        ++found.updates;
        const double objective = term - found.log_likelihood;
        const bool has_converged = found.residual <= given.tol,
                   has_failed = !is_plain && !has_converged && objective > best;
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
            double* before = c.latest;
            c.latest = c.counts, c.counts = before;
        }
        if (has_converged) break;
        is_plain = has_failed;
    }
    return found;
}

// squares[k] = sum over entries of x min(x, 1) phi^2, with the responsibilities phi of the weights
// whose ratios the sample holds.
template <class T>
void square_shares(const Sample<T>& s, int64_t components, const T* weights, T* squares) {
    constexpr int L = simd<T>::lanes;
    for (int64_t j = 0; j < s.stride; j += L) {
        // x u phi^2 = u / x (x / product)^2 (weight * factor)^2, with u = min(x, 1)
        const vec<T> x = load<T>(s.x + j), one = fill<T>(1);
        const vec<T> by = x > T(0) ? (x < one ? one : reciprocal(x > T(0) ? x : one)) : vec<T>{};
        store<T>(s.x + j, by);
    }
    for (int64_t k = 0; k < components; ++k) {
        const T* others = s.others + k * s.stride;
        vec<T> total = vec<T>{};
        for (int64_t j = 0; j < s.stride; j += L) {
            const vec<T> count = weights[k] * load<T>(others + j) * load<T>(s.products + j);
            total += load<T>(s.x + j) * count * count;
        }
        squares[k] = sum<T>(total);
    }
}

// `memory` begins with six tables of doubles by component, each of whole vectors.
template <class T> void infer(const Inference<T>& f, int64_t begin, int64_t end, void* memory) {
    constexpr int L = simd<T>::lanes;
    const int64_t n = f.components, whole = (n + 7) / 8 * 8;
    double* doubles = static_cast<double*>(memory);
    CountBuffers counts{
        .latest = doubles, .counts = doubles + whole, .absorbed = doubles + 2 * whole};
    T *effective = reinterpret_cast<T*>(doubles + 5 * whole),
      *entries = reinterpret_cast<T*>(doubles + 6 * whole);
    const Descent<T> topics{.components = n, .padded = f.padded, .others = f.topics};
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
        const SampleWeights<T> weights{
            .given = f,
            .prior = prior,
            .others = f.others ? f.others + row * n : nullptr,
            .sum = total + prior_sum,
            .digamma_sum = gamma_functions(fill<double>(total + prior_sum)).digamma[0],
            .parameters = doubles + 3 * whole,
            .effective_doubles = doubles + 4 * whole,
            .effective = effective};
        for (int64_t k = 0; k < n; ++k) counts.absorbed[k] = total / double(n);
        Inferred found{.log_likelihood = 0, .residual = 0, .updates = 0};
        if (total > 0) {
            weights.absorb(counts.absorbed);
            gather<T>(topics, f.features + first, effective, s);
            found = infer_sample<T>(s, weights, total, counts);
        }
        for (int64_t k = 0; k < n; ++k) f.counts[row * n + k] = total > 0 ? T(counts.latest[k]) : 0;
        if (f.squares && total > 0) square_shares<T>(s, n, effective, f.squares + row * n);
        f.log_likelihoods[row] = found.log_likelihood;
        f.residuals[row] = found.residual;
        f.updates[row] = found.updates;
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
