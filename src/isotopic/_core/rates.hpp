// Poisson regression of each feature on the exposures of the samples, for one instruction-set
// level; see `RateFit` in kernels.hpp.
//
// The penalised log-likelihood of the rates f of a feature with counts x,
//     sum x log(products) - cost . f + pseudo_count * sum log f,    products = exposures @ f,
// is concave. A few EM steps come near its maximum, then Newton's method reaches it. Entries are
// read in tiles, so that their exposures stay in the cache.
//
// rates.py has the same steps in NumPy.
#pragma once
#include "kernels.hpp"
#include "special.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr int rate_em_steps = 3;
constexpr int rate_newton_steps = 100;
constexpr double rate_rounding = 1e-14;  // of the log-likelihood
constexpr int rate_halvings = 20;

// The memory of one fit. All vectors have a length of k, all matrices are k x k.
struct RateScratch {
    double *tile, *counts, *weighted;  // k x rate_tile; rate_tile; rate_tile
    double *rates, *gradient, *step, *cost, *information, *trial_information, *trial;
};

// One feature: the log-likelihood, and what its derivatives need.
struct RateProblem {
    const RateFit& d;
    int64_t feature;
    const RateScratch& s;

    // Returns the log-likelihood of the rates. Writes the expected counts of each topic, and the
    // lower triangle of the information about the logarithms of the rates.
    double evaluate(const double* rates, double* expected, double* information) const {
        constexpr int L = simd<double>::lanes;
        const int64_t k = d.components;
        double value = 0;
        for (int64_t i = 0; i < k; ++i) {
            expected[i] = 0;
            value += d.pseudo_count * __builtin_log(rates[i]) - s.cost[i] * rates[i];
        }
        if (information)
            for (int64_t i = 0; i < k * k; ++i) information[i] = 0;
        const int64_t last = d.column_starts[feature + 1];
        for (int64_t first = d.column_starts[feature]; first < last; first += rate_tile) {
            const int64_t n = last - first < rate_tile ? last - first : rate_tile;
            const int64_t stride = (n + L - 1) / L * L;
            for (int64_t j = 0; j < stride; ++j) {
                const bool is_entry = j < n;
                s.counts[j] = is_entry ? d.values[first + j] : 0;
                const double* row = d.exposures + (is_entry ? d.samples[first + j] * k : 0);
                for (int64_t i = 0; i < k; ++i)
                    s.tile[i * rate_tile + j] = is_entry ? row[i] * rates[i] : 0;
            }
            vec<double> total = vec<double>{};
            for (int64_t j = 0; j < stride; j += L) {
                vec<double> product = vec<double>{};
                for (int64_t i = 0; i < k; ++i) product += load<double>(s.tile + i * rate_tile + j);
                const vec<double> count = load<double>(s.counts + j);
                product = product > 0.0 ? product : fill<double>(1);
                total += count * log(product);
                const vec<double> inverse = fill<double>(1) / product;
                for (int64_t i = 0; i < k; ++i) {
                    double* share = s.tile + i * rate_tile + j;
                    store<double>(share, load<double>(share) * inverse);
                }
            }
            value += sum<double>(total);
            for (int64_t i = 0; i < k; ++i) {
                const double* share = s.tile + i * rate_tile;
                vec<double> own = vec<double>{};
                for (int64_t j = 0; j < stride; j += L) {
                    const vec<double> here = load<double>(s.counts + j) * load<double>(share + j);
                    store<double>(s.weighted + j, here);
                    own += here;
                }
                expected[i] += sum<double>(own);
                if (!information) continue;
                for (int64_t o = 0; o <= i; ++o) {
                    const double* other = s.tile + o * rate_tile;
                    vec<double> both = vec<double>{};
                    for (int64_t j = 0; j < stride; j += L)
                        both += load<double>(s.weighted + j) * load<double>(other + j);
                    information[i * k + o] += sum<double>(both);
                }
            }
        }
        if (information)
            for (int64_t i = 0; i < k; ++i) information[i * k + i] += d.pseudo_count;
        return value;
    }
};

// Factorises a positive definite matrix in place: its lower triangle becomes Cholesky's.
inline void factorize_in_place(double* matrix, int64_t k) {
    for (int64_t i = 0; i < k; ++i) {
        double* row = matrix + i * k;
        for (int64_t j = 0; j <= i; ++j) {
            const double* other = matrix + j * k;
            double rest = row[j];
            for (int64_t l = 0; l < j; ++l) rest -= row[l] * other[l];
            row[j] = j < i ? rest / other[j] : __builtin_sqrt(rest);
        }
    }
}

inline void solve_forward(const double* factor, int64_t k, int64_t from, double* b) {
    for (int64_t i = from; i < k; ++i) {
        for (int64_t j = from; j < i; ++j) b[i] -= factor[i * k + j] * b[j];
        b[i] /= factor[i * k + i];
    }
}

inline void solve_backward(const double* factor, int64_t k, double* b) {
    for (int64_t i = k; i-- > 0;) {
        for (int64_t j = i + 1; j < k; ++j) b[i] -= factor[j * k + i] * b[j];
        b[i] /= factor[i * k + i];
    }
}

// Maximises the log-likelihood; `s.information` becomes the factor of the information there.
inline void maximize_rates(const RateProblem& problem) {
    const RateScratch& s = problem.s;
    const RateFit& d = problem.d;
    const int64_t k = d.components;
    for (int step = 0; step < rate_em_steps; ++step) {
        problem.evaluate(s.rates, s.gradient, nullptr);
        for (int64_t i = 0; i < k; ++i) s.rates[i] = (s.gradient[i] + d.pseudo_count) / s.cost[i];
    }
    double* information = s.information;
    double* next_information = s.trial_information;
    double value = problem.evaluate(s.rates, s.gradient, information);
    for (int step = 0;; ++step) {
        double gain = 0, least = 0;
        factorize_in_place(information, k);
        for (int64_t i = 0; i < k; ++i)
            s.step[i] = s.gradient[i] += d.pseudo_count - s.rates[i] * s.cost[i];
        solve_forward(information, k, 0, s.step);
        solve_backward(information, k, s.step);
        for (int64_t i = 0; i < k; ++i) {
            gain += s.gradient[i] * s.step[i];
            least = s.step[i] < least ? s.step[i] : least;
        }
        const double enough = rate_rounding * __builtin_fabs(value);
        if (step == rate_newton_steps || !(gain > enough)) break;
        double length = least < -0.9 ? -0.9 / least : 1;  // rates stay positive
        double found = 0;
        for (int halving = 0; halving <= rate_halvings; ++halving, length /= 2) {
            for (int64_t i = 0; i < k; ++i) s.trial[i] = s.rates[i] * (1 + length * s.step[i]);
            found = problem.evaluate(s.trial, s.gradient, next_information);
            if (found >= value - enough) break;
        }
        for (int64_t i = 0; i < k; ++i) s.rates[i] = s.trial[i];
        value = found;
        double* old = information;
        information = next_information;
        next_information = old;
    }
    if (information != s.information)
        for (int64_t i = 0; i < k * k; ++i) s.information[i] = information[i];
}

// Writes the inverse of a matrix of which `factor` is Cholesky's factor.
inline void invert(const double* factor, int64_t k, double* column, double* to) {
    for (int64_t j = 0; j < k; ++j) {
        for (int64_t i = 0; i < k; ++i) column[i] = i == j ? 1 : 0;
        solve_forward(factor, k, j, column);
        solve_backward(factor, k, column);
        for (int64_t i = 0; i < k; ++i) to[i * k + j] = column[i];
    }
}

inline void fit_rates(const RateFit& d, int64_t begin, int64_t end, double* memory) {
    const int64_t k = d.components;
    RateScratch s{};
    double* at = memory;
    const auto take = [&](int64_t size) {
        constexpr int64_t L = simd<double>::lanes;
        double* piece = at;
        at += (size + L - 1) / L * L;
        return piece;
    };
    s.tile = take(k * rate_tile);
    for (double** part : {&s.counts, &s.weighted}) *part = take(rate_tile);
    for (double** part : {&s.information, &s.trial_information}) *part = take(k * k);
    for (double** part : {&s.rates, &s.gradient, &s.step, &s.cost, &s.trial}) *part = take(k);
    for (int64_t feature = begin; feature < end; ++feature) {
        if (!(d.overall[feature] > 0)) continue;
        for (int64_t i = 0; i < k; ++i) {
            s.cost[i] = d.totals[i] + d.pseudo_count / d.overall[feature];
            s.rates[i] = d.rates[feature * k + i];
        }
        maximize_rates(RateProblem{d, feature, s});
        for (int64_t i = 0; i < k; ++i) d.rates[feature * k + i] = s.rates[i];
        invert(s.information, k, s.step, d.covariance + feature * k * k);
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
