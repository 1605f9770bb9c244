// Stepwise selection of the reference topics that a sample contains, for one instruction-set level;
// see `Selection` in kernels.hpp.
//
// A set of topics is as good as its largest log-likelihood (poisson_fit.hpp) minus a penalty for
// each topic. From the best single topic on, topics are removed, added and exchanged for as long as
// that improves the set; then once more, from a set with more topics than that. Which ones are
// tried is decided by the quadratic approximation of the log-likelihood; each trial is then fitted.
//
// selection.py has the same steps in NumPy.
#pragma once
#include "kernels.hpp"
#include "poisson_fit.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr int removals_tried = 3;   // of the topics that matter least
constexpr int additions_tried = 5;  // of the topics that promise most
constexpr int exchanges_tried = 2;  // the same, in place of one that is taken out
constexpr int interval_steps = 6;
constexpr int replacements_tried = 3;  // topics in place of one that is left out
constexpr double least_gain = 1;       // of log-likelihood, for a topic to be in the larger set

// A set of topics with its weights.
struct Choice {
    int64_t size;
    int32_t* set;
    double* weights;
    double log_likelihood;

    void take(const Choice& other) {
        size = other.size;
        log_likelihood = other.log_likelihood;
        for (int64_t i = 0; i < size; ++i) set[i] = other.set[i], weights[i] = other.weights[i];
    }
};

// Copies a choice without one topic, and fits it.
inline void remove_topic(const Selector& s, const Choice& from, int64_t which, double total,
                         Choice& to) {
    to.size = 0;
    for (int64_t i = 0; i < from.size; ++i) {
        if (i == which) continue;
        to.set[to.size] = from.set[i];
        to.weights[to.size++] = 0.95 * from.weights[i] + 0.05 * total / double(from.size - 1);
    }
    to.log_likelihood = s.fit(to.set, to.size, to.weights, nullptr);
}

inline void drop_zeros(Choice& c) {
    int64_t kept = 0;
    for (int64_t i = 0; i < c.size; ++i)
        if (c.weights[i] > 0) c.set[kept] = c.set[i], c.weights[kept++] = c.weights[i];
    c.size = kept;
}

// Finds the best of a few choices with one topic less. Returns whether there is one.
inline bool best_removal(const Selector& s, const Choice& now, double total, Choice& trial,
                         Choice& best) {
    if (now.size < 2) return false;
    s.evaluate(now.set, now.size, now.weights, nullptr, s.products);
    s.curve();
    s.factorize(now.set, now.size);
    for (int64_t i = 0; i < now.size; ++i) {  // the loss by the quadratic approximation
        for (int64_t k = 0; k < now.size; ++k) s.direction[k] = k == i ? 1 : 0;
        s.forward_solve(now.size, s.direction);
        double variance = 0;
        for (int64_t k = 0; k < now.size; ++k) variance += s.direction[k] * s.direction[k];
        s.score[i] = now.weights[i] * now.weights[i] / variance;
    }
    best.log_likelihood = -__builtin_inf();
    for (int64_t tried = 0; tried < removals_tried && tried < now.size; ++tried) {
        int64_t least = -1;
        for (int64_t i = 0; i < now.size; ++i)
            if (s.score[i] >= 0 && (least < 0 || s.score[i] < s.score[least])) least = i;
        if (least < 0) break;
        s.score[least] = -1;
        remove_topic(s, now, least, total, trial);
        if (trial.log_likelihood > best.log_likelihood) best.take(trial);
    }
    return best.log_likelihood > -__builtin_inf();
}

// Finds the best of a few choices with one topic more, other than `except`, if it is better than
// `best`. Returns whether it did.
inline bool best_addition(const Selector& s, const Choice& now, double total, int64_t tries,
                          int32_t except, Choice& trial, Choice& best) {
    s.evaluate(now.set, now.size, now.weights, nullptr, s.products);
    s.curve();
    s.factorize(now.set, now.size);
    for (int64_t k = 0; k < s.components; ++k) {  // the gain by the quadratic approximation
        const double* topic = s.topics + k * s.stride;
        const double slope = s.pull(topic) - 1;
        s.score[k] = 0;
        if (!(slope > 0) || k == except) continue;
        s.weigh(topic);
        const double own = s.dot(s.scaled, topic);
        for (int64_t i = 0; i < now.size; ++i)
            s.direction[i] = s.dot(s.scaled, s.topics + now.set[i] * s.stride);
        s.forward_solve(now.size, s.direction);
        double rest = own;
        for (int64_t i = 0; i < now.size; ++i) rest -= s.direction[i] * s.direction[i];
        s.score[k] = slope * slope / (rest > 1e-9 * own ? rest : 1e-9 * own);
    }
    for (int64_t i = 0; i < now.size; ++i) s.score[now.set[i]] = 0;
    bool found = false;
    for (int64_t tried = 0; tried < tries; ++tried) {
        int64_t most = 0;
        for (int64_t k = 1; k < s.components; ++k)
            if (s.score[k] > s.score[most]) most = k;
        if (!(s.score[most] > 0)) break;
        s.score[most] = 0;
        trial.size = now.size + 1;
        for (int64_t i = 0; i < now.size; ++i) {
            trial.set[i] = now.set[i];
            trial.weights[i] = 0.9 * now.weights[i];
        }
        trial.set[now.size] = int32_t(most);
        trial.weights[now.size] = 0.1 * total;
        trial.log_likelihood = s.fit(trial.set, trial.size, trial.weights, nullptr);
        if (trial.log_likelihood > best.log_likelihood) best.take(trial), found = true;
    }
    return found;
}

// Improves a choice until no removal, addition or exchange of one topic does.
inline void improve(const Selector& s, double penalty, double total, Choice& now, Choice& trial,
                    Choice& best, Choice& shorter) {
    for (int64_t step = 0; step < 4 * s.components + 8; ++step) {
        drop_zeros(now);
        if (best_removal(s, now, total, trial, best) &&
            now.log_likelihood - best.log_likelihood < penalty) {
            now.take(best);
            continue;
        }
        best.log_likelihood = now.log_likelihood + penalty;
        if (best_addition(s, now, total, additions_tried, -1, trial, best)) {
            now.take(best);
            continue;
        }
        best.log_likelihood = now.log_likelihood + 10 * fit_tolerance;
        bool exchanged = false;
        for (int64_t i = 0; i < now.size && now.size > 1; ++i) {
            remove_topic(s, now, i, total, shorter);
            exchanged |= best_addition(s, shorter, total, exchanges_tried, now.set[i], trial, best);
        }
        if (!exchanged) return;
        now.take(best);
    }
}

// Adds topics for as long as each gains some log-likelihood, and improves that larger set. So one
// topic gives way to two that only together are better. The better choice is kept in `now`.
inline void improve_from_larger(const Selector& s, double penalty, double gain, double total,
                                Choice& now, Choice& trial, Choice& best, Choice& shorter,
                                Choice& larger) {
    larger.take(now);
    while (larger.size < s.components) {
        best.log_likelihood = larger.log_likelihood + gain;
        if (!best_addition(s, larger, total, 1, -1, trial, best)) break;
        larger.take(best);
        drop_zeros(larger);
    }
    if (larger.log_likelihood == now.log_likelihood) return;
    improve(s, penalty, total, larger, trial, best, shorter);
    const double better = larger.log_likelihood - now.log_likelihood;
    if (better > penalty * double(larger.size - now.size) + 10 * fit_tolerance) now.take(larger);
}

// Returns how much better a choice is than one without a topic, where others may take its place.
// Others are added for as long as that improves the choice.
inline double margin_of(const Selector& s, double penalty, double total, const Choice& now,
                        int64_t which, Choice& trial, Choice& best, Choice& other) {
    if (now.size < 2) return __builtin_inf();
    remove_topic(s, now, which, total, other);
    for (int i = 0; i < replacements_tried && other.size < s.components; ++i) {
        best.log_likelihood = other.log_likelihood + penalty;
        if (!best_addition(s, other, total, exchanges_tried, now.set[which], trial, best)) break;
        other.take(best);
    }
    return now.log_likelihood - other.log_likelihood - penalty * double(now.size - other.size);
}

// Leaves out topics that others could replace nearly as well. The largest is kept.
inline void leave_out_uncertain(const Selector& s, const Selection& d, int64_t row, double total,
                                Choice& now, Choice& trial, Choice& best, Choice& other) {
    const double dispersion = d.dispersions[row], penalty = d.penalties[row] * dispersion;
    int64_t largest = 0, kept = 0;
    for (int64_t i = 0; i < now.size; ++i) {
        const double margin = margin_of(s, penalty, total, now, i, trial, best, other);
        d.margins[row * d.components + now.set[i]] = margin / dispersion;
        if (now.weights[i] > now.weights[largest]) largest = i;
    }
    for (int64_t i = 0; i < now.size; ++i) {
        double& margin = d.margins[row * d.components + now.set[i]];
        if (i == largest || margin >= d.least_margin)
            now.set[kept] = now.set[i], now.weights[kept++] = now.weights[i];
        else
            margin = 0;
    }
    if (kept == now.size) return;
    now.size = kept;
    for (int64_t i = 0; i < kept; ++i)
        now.weights[i] = 0.95 * now.weights[i] + 0.05 * total / double(kept);
    now.log_likelihood = s.fit(now.set, now.size, now.weights, nullptr);
    drop_zeros(now);
}

// Returns the dispersion (Fletcher 2012): Pearson's statistic by degree of freedom, corrected for
// small counts. Entries that are zero count as well.
inline double dispersion_of(const Selector& s, const Choice& c, double n_features) {
    const double freedom = n_features - double(c.size);
    if (!(freedom > 0)) return 1;
    s.evaluate(c.set, c.size, c.weights, nullptr, s.products);
    double expected = 0, pearson = 0, relative = double(s.n) - n_features;
    for (int64_t i = 0; i < c.size; ++i) expected += c.weights[i];
    for (int64_t j = 0; j < s.n; ++j) {
        const double mean = s.products[j], rest = s.x[j] - mean;
        pearson += rest * rest / mean;
        relative += rest / mean;
        expected -= mean;
    }
    pearson += expected > 0 ? expected : 0;
    const double correction = 1 + relative / n_features;
    const double found = pearson / freedom / (correction > 0.1 ? correction : 0.1);
    return found > 1 ? found : 1;
}

// Returns the end of an interval: where the profile of the log-likelihood has fallen by `fall`.
inline double interval_end(const Selector& s, const Choice& c, int64_t which, double fall,
                           double step, Choice& rest) {
    const double at = c.weights[which];
    double end = at + step;
    for (int i = 0; i < interval_steps; ++i) {
        if (!(end > 0)) end = 0.05 * at;
        rest.size = 0;
        for (int64_t k = 0; k < c.size; ++k) {
            if (k == which) continue;
            rest.set[rest.size] = c.set[k];
            rest.weights[rest.size++] = c.weights[k];
        }
        for (int64_t j = 0; j < s.stride; ++j)
            s.offset[j] = end * s.topics[c.set[which] * s.stride + j];
        const double fallen =
            c.log_likelihood - (s.fit(rest.set, rest.size, rest.weights, s.offset) - end);
        if (!(fallen > 0)) break;
        const double next = at + (end - at) * __builtin_sqrt(fall / fallen);
        const bool settled = __builtin_fabs(next - end) < 1e-6 * at;
        end = next;
        if (settled) break;
    }
    return end > 0 ? end : 0;
}

inline void describe(const Selector& s, const Selection& d, int64_t row, double total, Choice& c,
                     Choice& rest) {
    const double fall = d.fall * d.dispersions[row];
    for (int64_t i = 0; i < c.size; ++i) {
        const int64_t at = row * d.components + c.set[i];
        if (c.size > 1) {
            remove_topic(s, c, i, total, rest);
            d.losses[at] = c.log_likelihood - rest.log_likelihood;
        } else {
            d.losses[at] = __builtin_inf();
        }
        s.evaluate(c.set, c.size, c.weights, nullptr, s.products);
        s.curve();
        s.factorize(c.set, c.size);
        for (int64_t k = 0; k < c.size; ++k) s.direction[k] = k == i ? 1 : 0;
        s.forward_solve(c.size, s.direction);
        double variance = 0;
        for (int64_t k = 0; k < c.size; ++k) variance += s.direction[k] * s.direction[k];
        const double step = __builtin_sqrt(2 * fall * variance);
        d.upper[at] = interval_end(s, c, i, fall, step, rest);
        d.lower[at] = d.losses[at] > fall ? interval_end(s, c, i, fall, -step, rest) : 0;
    }
}

// Copies the entries of a sample, and the topics mixed with the background.
inline double copy_sample(const Selection& d, int64_t row, double background, const Selector& s) {
    const int64_t first = d.row_starts[row];
    const double level = background / double(d.n_features);
    double total = 0;
    for (int64_t j = 0; j < s.stride; ++j) {
        const bool is_entry = j < s.n;
        s.x[j] = is_entry ? d.values[first + j] : 0;
        s.inverse_x[j] = is_entry ? 1 / s.x[j] : 1;
        total += s.x[j];
        for (int64_t k = 0; k < d.components; ++k)
            s.topics[k * s.stride + j] =
                is_entry
                    ? (1 - background) * d.topics[d.features[first + j] * d.components + k] + level
                    : 0;
    }
    return total;
}

// The weights of the chosen topics themselves, without the background. Counts that they do not
// explain at all are left out.
inline void refine(const Selector& s, const Selection& d, int64_t row, Choice& c) {
    copy_sample(d, row, 0, s);
    for (int64_t j = 0; j < s.n; ++j) {
        double most = 0;
        for (int64_t i = 0; i < c.size; ++i) {
            const double here = s.topics[c.set[i] * s.stride + j];
            most = here > most ? here : most;
        }
        if (!(most > 1e-200)) s.x[j] = 0, s.inverse_x[j] = 1;
    }
    s.fit(c.set, c.size, c.weights, nullptr);
    for (int64_t i = 0; i < c.size; ++i) {
        const int64_t at = row * d.components + c.set[i];
        d.weights[at] = c.weights[i];
        if (!(d.lower[at] < c.weights[i])) d.lower[at] = c.weights[i];
        if (!(d.upper[at] > c.weights[i])) d.upper[at] = c.weights[i];
        if (c.weights[i] == 0) d.losses[at] = 0;
    }
}

inline void select_topics(const Selection& d, int64_t begin, int64_t end, double* memory) {
    constexpr int L = simd<double>::lanes;
    const int64_t k = d.components;
    for (int64_t row = begin; row < end; ++row) {
        for (int64_t i = row * k; i < (row + 1) * k; ++i)
            d.weights[i] = d.losses[i] = d.margins[i] = d.lower[i] = d.upper[i] = 0;
        d.dispersions[row] = 1;
        const int64_t n = d.row_starts[row + 1] - d.row_starts[row], stride = (n + L - 1) / L * L;
        double* at = memory;
        const auto take = [&](int64_t size) {
            double* piece = at;
            at += (size + L - 1) / L * L;
            return piece;
        };
        Selector s{};
        s.n = n, s.stride = stride, s.components = k;
        for (double** part :
             {&s.x, &s.inverse_x, &s.products, &s.moved, &s.curvature, &s.scaled, &s.offset})
            *part = take(stride);
        s.topics = take(k * stride);
        s.hessian = take((k + 1) * (k + 1));
        for (double** part : {&s.gradient, &s.direction, &s.next, &s.score}) *part = take(k + 1);
        s.free_ = reinterpret_cast<int32_t*>(take(k + 1));
        Choice now{}, trial{}, best{}, shorter{}, larger{};
        for (Choice* c : {&now, &trial, &best, &shorter, &larger}) {
            c->weights = take(k + 1);
            c->set = reinterpret_cast<int32_t*>(take(k + 1));
        }
        const double total = copy_sample(d, row, d.background, s);
        if (!(total > 0)) continue;
        now.log_likelihood = -__builtin_inf();
        for (int32_t topic = 0; topic < k; ++topic) {
            const double found = s.evaluate(&topic, 1, &total, nullptr, s.moved);
            if (!(found > now.log_likelihood)) continue;
            now.size = 1, now.set[0] = topic, now.weights[0] = total, now.log_likelihood = found;
        }
        if (now.size == 0) continue;  // without a background: no topic alone explains all counts
        improve(s, d.penalties[row], total, now, trial, best, shorter);
        if (d.estimates_dispersion) {
            d.dispersions[row] = dispersion_of(s, now, double(d.n_features));
            if (d.dispersions[row] > 1)
                improve(s, d.penalties[row] * d.dispersions[row], total, now, trial, best, shorter);
        }
        drop_zeros(now);
        const double dispersion = d.dispersions[row];
        improve_from_larger(s, d.penalties[row] * dispersion, least_gain * dispersion, total, now,
                            trial, best, shorter, larger);
        drop_zeros(now);
        leave_out_uncertain(s, d, row, total, now, trial, best, shorter);
        describe(s, d, row, total, now, shorter);
        refine(s, d, row, now);
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
