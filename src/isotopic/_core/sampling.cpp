#include "sampling.hpp"

#include <algorithm>
#include <vector>

#include "levels.hpp"
#include "memory.hpp"
#include "pool.hpp"
#include "sampling_by_feature.hpp"

namespace isotopic {
namespace {

constexpr int64_t part_tokens = 250'000;    // fewer are not worth a copy of the topics' counts
constexpr int64_t most_parts = 4;           // more mix more slowly
constexpr int64_t most_copied = 1LL << 26;  // elements of all copies; as many are expected
constexpr int64_t expected_every = 4;       // averaged sweeps: expected counts have little noise
constexpr int64_t chunk_features = 256, chunk_samples = 64;

Uninitialized<float> zeros(int64_t n) {
    Uninitialized<float> numbers{size_t(n)};
    std::fill_n(numbers.data(), n, 0.0f);
    return numbers;
}

// The counts of the topics as one part of the samples sees them.
struct Topics {
    Uninitialized<float> counts;  // features x padded components
    Uninitialized<float> totals,
        inverse;                    // of each component: counts, and what the walks divide by
    Uninitialized<float> expected;  // like counts: in an averaged sweep, if there is any
};

class Sampler {
  public:
    Sampler(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled)
        : x_(tokens),
          with_(sweeps),
          to_(sampled),
          padded_(padded(sweeps.components, current_level().float_kernels.lanes)),
          eta_(float(sweeps.eta)),
          eta_sum_(float(sweeps.eta * double(tokens.n_features))),
          share_(1 / float(std::max<int64_t>(
                         (sweeps.averaged + expected_every - 1) / expected_every, 1))),
          alpha_(zeros(padded_)),
          shared_{} {
        std::copy(sweeps.alpha, sweeps.alpha + sweeps.components, alpha_.data());
        write_tokens();
        divide_samples();
        count_tokens();
    }

    bool run(const Execution& execution) {
        for (int64_t sweep = 0; sweep < with_.sweeps; ++sweep) {
            const int64_t left = with_.sweeps - 1 - sweep;
            const bool is_averaged = left < with_.averaged && left % expected_every == 0;
            const int64_t parts = int64_t(parts_.size()),
                          chunks = (x_.n_features + chunk_features - 1) / chunk_features;
            Steps steps({chunks, parts, chunks}, execution.threads);
            merge_totals();
            const bool complete = steps.run(
                [&](int64_t step, int64_t chunk) {
                    if (step == 0) share(chunk);
                    if (step == 1) walk_part(chunk, sweep, is_averaged);
                    if (step == 2) merge(chunk, is_averaged);
                },
                execution.interrupted);
            if (!complete) return false;
        }
        return true;
    }

  private:
    // Writes the feature of each token, and its size if they differ.
    void write_tokens() {
        const int64_t n_entries = x_.row_starts[x_.n_samples];
        const bool sized =
            std::any_of(x_.sizes, x_.sizes + n_entries, [](float size) { return size != 1; }) ||
            std::any_of(x_.copies, x_.copies + x_.n_samples, [](float n) { return n != 1; });
        for (int64_t e = 0; e < n_entries; ++e) {
            token_features_.insert(token_features_.end(), size_t(x_.repeats[e]), x_.features[e]);
            if (sized) token_sizes_.insert(token_sizes_.end(), size_t(x_.repeats[e]), x_.sizes[e]);
        }
        token_features_.insert(token_features_.end(), size_t(walk_ahead), 0);
    }

    static int64_t padded(int64_t components, int64_t lanes) {
        return (components + lanes - 1) / lanes * lanes;
    }

    void divide_samples() {
        first_token_.reserve(size_t(x_.n_samples + 1));
        first_token_.push_back(0);
        for (int64_t d = 0; d < x_.n_samples; ++d) {
            int64_t n = first_token_.back();
            for (int64_t e = x_.row_starts[d]; e < x_.row_starts[d + 1]; ++e) n += x_.repeats[e];
            first_token_.push_back(n);
        }
        const int64_t n_tokens = first_token_.back(), size = x_.n_features * padded_;
        int64_t n_parts = std::clamp(n_tokens / part_tokens, int64_t(1), most_parts);
        n_parts = std::clamp(most_copied / std::max<int64_t>(size, 1), int64_t(1), n_parts);
        parts_.resize(size_t(n_parts));
        first_sample_.push_back(0);
        for (int64_t part = 1; part <= n_parts; ++part) {
            const auto end = std::lower_bound(first_token_.begin(), first_token_.end() - 1,
                                              part * n_tokens / n_parts);
            first_sample_.push_back(end - first_token_.begin());
        }
        first_sample_.back() = x_.n_samples;
    }

    void count_tokens() {
        for (Topics& part : parts_) {
            part.counts = zeros(x_.n_features * padded_);
            part.inverse = zeros(padded_);
            part.totals = zeros(padded_);
            if (with_.averaged > 0) part.expected = zeros(x_.n_features * padded_);
        }
        if (parts_.size() > 1) shared_.counts = zeros(x_.n_features * padded_);
        shared_.totals = zeros(padded_);
        float* counts = whole_counts();
        const int32_t* assigned = to_.assignments;
        for (int64_t d = 0; d < x_.n_samples; ++d)
            for (int64_t e = x_.row_starts[d]; e < x_.row_starts[d + 1]; ++e)
                for (int32_t i = 0; i < x_.repeats[e]; ++i, ++assigned) {
                    const float size = x_.sizes[e] * x_.copies[d];
                    counts[x_.features[e] * padded_ + *assigned] += size;
                    shared_.totals.data()[*assigned] += size;
                }
        for (Topics& part : parts_) std::copy_n(shared_.totals.data(), padded_, part.totals.data());
    }

    // The counts of the topics by all samples; a single part needs no copy of them.
    float* whole_counts() {
        return parts_.size() > 1 ? shared_.counts.data() : parts_[0].counts.data();
    }

    // Adds the changes of all parts to the totals of the components.
    void merge_totals() {
        for (int64_t k = 0; k < with_.components; ++k) {
            const float before = shared_.totals.data()[k];
            float total = before;
            for (const Topics& part : parts_) total += part.totals.data()[k] - before;
            shared_.totals.data()[k] = total;
            for (Topics& part : parts_) part.totals.data()[k] = total;
        }
    }

    // Gives each part the counts of some features.
    void share(int64_t chunk) {
        const int64_t last = std::min(x_.n_features, (chunk + 1) * chunk_features);
        for (int64_t v = chunk * chunk_features; parts_.size() > 1 && v < last; ++v) {
            const float* row = whole_counts() + v * padded_;
            for (Topics& part : parts_)
                std::copy(row, row + padded_, part.counts.data() + v * padded_);
        }
    }

    // Adds the changes of all parts to the counts of some features.
    void merge(int64_t chunk, bool is_averaged) {
        const int64_t last = std::min(x_.n_features, (chunk + 1) * chunk_features);
        for (int64_t v = chunk * chunk_features; v < last; ++v) {
            if (is_averaged) add_to_mean(v);
            float* row = whole_counts() + v * padded_;
            for (int64_t k = 0; parts_.size() > 1 && k < padded_; ++k) {
                const float before = row[k];
                float change = 0;
                for (const Topics& part : parts_)
                    change += part.counts.data()[v * padded_ + k] - before;
                row[k] = std::max(0.0f, before + change);
            }
        }
    }

    // Adds the expected counts of a sweep to their mean. A sum over all sweeps would round small
    // chances away.
    void add_to_mean(int64_t v) {
        float* mean = to_.topics + v * with_.components;
        for (Topics& part : parts_) {
            float* expected = part.expected.data() + v * padded_;
            for (int64_t k = 0; k < with_.components; ++k) mean[k] += share_ * expected[k];
            std::fill_n(expected, padded_, 0.0f);
        }
    }

    // Computes the chances of all topics for each token.
    void walk_part(int64_t part, int64_t sweep, bool is_averaged) {
        Topics& topics = parts_[size_t(part)];
        const Uninitialized<float> memory(size_t(2 * most_walks * padded_));
        current_level().walk_samples({
            .first_sample = first_sample_[size_t(part)],
            .last_sample = first_sample_[size_t(part + 1)],
            .token_starts = first_token_.data(),
            .token_features = token_features_.data(),
            .token_sizes = token_sizes_.empty() ? nullptr : token_sizes_.data(),
            .assignments = to_.assignments,
            .copies = x_.copies,
            .components = with_.components,
            .padded = padded_,
            .alpha = alpha_.data(),
            .eta = eta_,
            .eta_sum = eta_sum_,
            .seed = with_.seed,
            .sweep = uint64_t(sweep),
            .counts = topics.counts.data(),
            .totals = topics.totals.data(),
            .inverse = topics.inverse.data(),
            .expected = is_averaged ? topics.expected.data() : nullptr,
            .mean_weights = is_averaged ? to_.weights : nullptr,
            .share = share_,
            .memory = memory.data(),
        });
    }

    const Tokens x_;
    const Sweeps with_;
    const Sampled to_;
    const int64_t padded_;
    const float eta_, eta_sum_;
    const float share_;  // of each averaged sweep in the mean
    const Uninitialized<float> alpha_;
    std::vector<int32_t> token_features_;
    std::vector<float> token_sizes_;  // none if all are one
    Topics shared_;                   // the counts of all parts, as they were after the last sweep
    std::vector<Topics> parts_;
    std::vector<int64_t> first_token_, first_sample_;
};

// Writes the counts of the topics that were drawn last.
void write_drawn(const Tokens& x, int64_t components, const Sampled& to) {
    const int32_t* assigned = to.assignments;
    for (int64_t d = 0; d < x.n_samples; ++d)
        for (int64_t e = x.row_starts[d]; e < x.row_starts[d + 1]; ++e)
            for (int32_t i = 0; i < x.repeats[e]; ++i, ++assigned) {
                to.weights[d * components + *assigned] += x.sizes[e];
                to.topics[x.features[e] * components + *assigned] += x.sizes[e] * x.copies[d];
            }
}

}  // namespace

bool sample_sweeps(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled,
                   const Execution& execution) {
    std::fill_n(sampled.weights, tokens.n_samples * sweeps.components, 0.0f);
    std::fill_n(sampled.topics, tokens.n_features * sweeps.components, 0.0f);
    const bool complete = sweeps.components > most_walk_components
                              ? sample_by_feature(tokens, sweeps, sampled, execution)
                              : Sampler(tokens, sweeps, sampled).run(execution);
    if (complete && sweeps.averaged == 0) write_drawn(tokens, sweeps.components, sampled);
    return complete;
}

bool draw_topics(const TopicDraws& draws, int64_t n_samples, const Execution& execution) {
    const int64_t chunks = (n_samples + chunk_samples - 1) / chunk_samples;
    return Steps({chunks}, execution.threads)
        .run(
            [&](int64_t, int64_t chunk) {
                const Uninitialized<float> memory(size_t(2 * draws.padded));
                const int64_t begin = chunk * chunk_samples;
                current_level().draw_topics(draws, memory.data(), begin,
                                            std::min(n_samples, begin + chunk_samples));
            },
            execution.interrupted);
}

}  // namespace isotopic
