// Weights of chosen reference topics for one sample, by Poisson likelihood, for one instruction-set
// level.
//
// With topics that sum to one, the log-likelihood of Poisson counts x is, up to a term of the data,
//     l(weights) = sum x log(products / x) - sum weights,    products = weights @ topics.
#pragma once
#include "kernels.hpp"
#include "special.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr int fit_steps = 60;
constexpr double fit_tolerance = 1e-7;  // of the log-likelihood
constexpr double ridge = 1e-10;         // of the diagonal, for topics that are the same

// One sample's entries, in whole vectors, and memory for the fits. Rows of `topics` are those of
// the reference at the entries.
struct Selector {
    int64_t n, stride, components;
    double *x, *inverse_x, *curvature, *scaled, *offset;
    mutable double *products, *moved;  // of the current weights, and of those that are tried
    double* topics;                    // components x stride
    double *hessian, *gradient, *direction, *next, *score;
    int32_t* free_;

    double dot(const double* a, const double* b) const {
        vec<double> total = vec<double>{};
        for (int64_t j = 0; j < stride; j += simd<double>::lanes)
            total += load<double>(a + j) * load<double>(b + j);
        return sum<double>(total);
    }

    // Writes offset + weights @ topics and returns the log-likelihood; NaN if a product is not
    // positive.
    double evaluate(const int32_t* set, int64_t m, const double* weights, const double* from,
                    double* to) const {
        double cost = 0;
        for (int64_t i = 0; i < m; ++i) cost += weights[i];
        vec<double> total = vec<double>{};
        ints<double> bad = ints<double>{};
        for (int64_t j = 0; j < stride; j += simd<double>::lanes) {
            vec<double> product = from ? load<double>(from + j) : vec<double>{};
            for (int64_t i = 0; i < m; ++i)
                product += weights[i] * load<double>(topics + set[i] * stride + j);
            const vec<double> count = load<double>(x + j);
            bad |= (count > 0.0) & (product < simd<double>::smallest_normal);
            product = count > 0.0 ? product : fill<double>(1);
            store<double>(to + j, product);
            total += count * log(product * load<double>(inverse_x + j));
        }
        return any(bad) ? __builtin_nan("") : sum<double>(total) - cost;
    }

    // Computes x / products^2.
    void curve() const {
        for (int64_t j = 0; j < stride; j += simd<double>::lanes) {
            const vec<double> inverse = reciprocal(load<double>(products + j));
            store<double>(curvature + j, load<double>(x + j) * inverse * inverse);
        }
    }

    // Writes curvature * topic.
    void weigh(const double* topic) const {
        for (int64_t j = 0; j < stride; j += simd<double>::lanes)
            store<double>(scaled + j, load<double>(curvature + j) * load<double>(topic + j));
    }

    double pull(const double* topic) const {
        vec<double> total = vec<double>{};
        for (int64_t j = 0; j < stride; j += simd<double>::lanes)
            total += load<double>(x + j) * load<double>(topic + j) *
                     reciprocal(load<double>(products + j));
        return sum<double>(total);
    }

    // Factorises the negative Hessian of the topics of a set: lower triangle, rows of length m.
    void factorize(const int32_t* set, int64_t m) const {
        for (int64_t i = 0; i < m; ++i) {
            weigh(topics + set[i] * stride);
            for (int64_t k = 0; k <= i; ++k)
                hessian[i * m + k] = dot(scaled, topics + set[k] * stride);
            hessian[i * m + i] *= 1 + ridge;
        }
        for (int64_t i = 0; i < m; ++i) {
            double* row = hessian + i * m;
            const double diagonal = row[i];
            for (int64_t k = 0; k < i; ++k) {
                const double* other = hessian + k * m;
                for (int64_t l = 0; l < k; ++l) row[k] -= row[l] * other[l];
                row[k] /= other[k];
                row[i] -= row[k] * row[k];
            }
            const double least = ridge * diagonal;
            row[i] = __builtin_sqrt(row[i] > least ? row[i] : (least > 0 ? least : 1));
        }
    }

    void forward_solve(int64_t m, double* b) const {
        for (int64_t i = 0; i < m; ++i) {
            for (int64_t k = 0; k < i; ++k) b[i] -= hessian[i * m + k] * b[k];
            b[i] /= hessian[i * m + i];
        }
    }

    void backward_solve(int64_t m, double* b) const {
        for (int64_t i = m; i-- > 0;) {
            for (int64_t k = i + 1; k < m; ++k) b[i] -= hessian[k * m + i] * b[k];
            b[i] /= hessian[i * m + i];
        }
    }

    // Maximises the log-likelihood over the weights of a set, by Newton's method on the weights
    // that are free to move. Returns the maximum; `products` are those of the result.
    double fit(const int32_t* set, int64_t m, double* weights, const double* from) const {
        double best = evaluate(set, m, weights, from, products);
        for (int step = 0; step < fit_steps && m > 0; ++step) {
            curve();
            int64_t n_free = 0;
            for (int64_t i = 0; i < m; ++i) {
                gradient[i] = pull(topics + set[i] * stride) - 1;
                if (weights[i] > 0 || gradient[i] > 0) {
                    free_[n_free] = set[i];
                    direction[n_free++] = gradient[i];
                }
            }
            if (n_free == 0) break;
            factorize(free_, n_free);
            forward_solve(n_free, direction);
            double decrement = 0;
            for (int64_t i = 0; i < n_free; ++i) decrement += direction[i] * direction[i];
            backward_solve(n_free, direction);
            double found = 0, by = 1;
            bool better = false;
            for (int half = 0; half < 30 && !better; ++half, by *= half == 1 ? 0.25 : 0.5) {
                double promised = 0;
                for (int64_t i = 0, f = 0; i < m; ++i) {
                    const bool moves = weights[i] > 0 || gradient[i] > 0;
                    const double to = weights[i] + (moves ? by * direction[f++] : 0);
                    next[i] = to > 0 ? to : 0;
                    promised += gradient[i] * (next[i] - weights[i]);
                }
                found = evaluate(set, m, next, from, moved);
                better = found >= best + 1e-4 * promised;
            }
            if (!better) break;
            for (int64_t i = 0; i < m; ++i) weights[i] = next[i];
            double* old = products;
            products = moved;
            moved = old;
            const double gain = found - best;
            best = found;
            if (gain < fit_tolerance && decrement < 10 * fit_tolerance) break;
        }
        return best;
    }
};

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
