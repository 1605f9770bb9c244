#include "sampling_by_feature.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "levels.hpp"
#include "memory.hpp"
#include "pool.hpp"

namespace isotopic {
namespace {

constexpr int64_t part_tokens = 100'000;  // fewer are not worth a thread of their own
constexpr int64_t most_parts = 4;         // each counts all tokens of its features again

template <class T> Uninitialized<T> zeros(int64_t n) {
    Uninitialized<T> numbers{size_t(n)};
    std::fill_n(numbers.data(), n, T{});
    return numbers;
}

// Cuts [0, n) into parts with about as many tokens; starts[i] is the first token of i.
std::vector<int64_t> cut(const std::vector<int64_t>& starts, int64_t parts) {
    std::vector<int64_t> firsts{0};
    const auto end = starts.end() - 1;
    for (int64_t part = 1; part < parts; ++part)
        firsts.push_back(std::lower_bound(starts.begin(), end, part * *end / parts) -
                         starts.begin());
    firsts.push_back(end - starts.begin());
    return firsts;
}

class FeatureSampler {
  public:
    FeatureSampler(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled)
        : x_(tokens),
          with_(sweeps),
          to_(sampled),
          padded_(padded(sweeps.components)),
          alpha_(zeros<float>(padded_)) {
        std::copy(sweeps.alpha, sweeps.alpha + sweeps.components, alpha_.data());
        order_tokens();
        list_topics();
    }

    bool run(const Execution& execution) {
        for (int64_t sweep = 0; sweep < with_.sweeps; ++sweep) {
            std::vector<int64_t> chunks;
            for (int64_t i = 0; i < parts_; ++i) chunks.insert(chunks.end(), {parts_, 1});
            if (sweep >= with_.sweeps - with_.averaged) chunks.push_back(parts_);
            const bool complete = Steps(chunks, execution.threads)
                                      .run(
                                          [&](int64_t step, int64_t part) {
                                              if (step == 2 * parts_) return add_to_means(part);
                                              if (step % 2 == 1) return merge_totals();
                                              walk(part, (part + step / 2) % parts_, sweep);
                                          },
                                          execution.interrupted);
            if (!complete) return false;
        }
        write_assignments();
        return true;
    }

  private:
    static int64_t padded(int64_t components) {
        const int64_t lanes = current_level().float_kernels.lanes, square = lanes * lanes;
        return (components + square - 1) / square * square;
    }

    template <class Visit> void for_each_entry(const Visit& visit) const {
        for (int64_t part = 0, d = 0; part < parts_; ++part)
            for (; d < first_sample_[size_t(part + 1)]; ++d)
                for (int64_t e = x_.row_starts[d]; e < x_.row_starts[d + 1]; ++e) visit(part, d, e);
    }

    // Visits the tokens in the order of the assignments, with the place of each in this order.
    template <class Visit> void for_each_token(const Visit& visit) const {
        std::vector<int64_t> next = token_starts_;
        int32_t* assigned = to_.assignments;
        for_each_entry([&](int64_t part, int64_t d, int64_t e) {
            int64_t& at = next[size_t(part * x_.n_features + x_.features[e])];
            for (int32_t i = 0; i < x_.repeats[e]; ++i) visit(d, e, *assigned++, at++);
        });
    }

    // Cuts samples and features into parts, and orders the tokens by part, then by feature.
    void order_tokens() {
        std::vector<int64_t> of_samples(size_t(x_.n_samples + 1)),
            of_features(size_t(x_.n_features + 1));
        first_sample_ = {0, x_.n_samples};
        for_each_entry([&](int64_t, int64_t d, int64_t e) {
            of_samples[size_t(d + 1)] += x_.repeats[e];
            of_features[size_t(x_.features[e] + 1)] += x_.repeats[e];
        });
        for (auto* starts : {&of_samples, &of_features})
            std::partial_sum(starts->begin(), starts->end(), starts->begin());
        const int64_t n_tokens = of_samples.back();
        parts_ = std::clamp(n_tokens / part_tokens, int64_t(1), int64_t(most_parts));
        first_sample_ = cut(of_samples, parts_), first_feature_ = cut(of_features, parts_);
        list_starts_.push_back(0);
        for (int64_t d = 0; d < x_.n_samples; ++d) {
            const int64_t most =
                std::min(of_samples[size_t(d + 1)] - of_samples[size_t(d)], with_.components);
            list_starts_.push_back(list_starts_.back() + (most + topic_block - 1) / topic_block);
        }
        token_starts_.resize(size_t(parts_ * x_.n_features + 1));
        for_each_entry([&](int64_t part, int64_t, int64_t e) {
            token_starts_[size_t(part * x_.n_features + x_.features[e] + 1)] += x_.repeats[e];
        });
        std::partial_sum(token_starts_.begin(), token_starts_.end(), token_starts_.begin());

        const bool sized = is_sized();
        token_samples_.resize(size_t(n_tokens)), assignments_.resize(size_t(n_tokens));
        token_sizes_.resize(sized ? size_t(n_tokens) : 0);
        token_weights_.resize(sized ? size_t(n_tokens) : 0);
        totals_ = zeros<float>(padded_);
        for_each_token([&](int64_t d, int64_t e, int32_t topic, int64_t place) {
            const size_t at = size_t(place);
            const float weight = x_.sizes[e] * x_.copies[d];
            token_samples_[at] = int32_t(d), assignments_[at] = topic;
            if (sized) token_sizes_[at] = x_.sizes[e], token_weights_[at] = weight;
            totals_.data()[topic] += weight;
        });
        for (int64_t i = 0; i < parts_; ++i) {
            part_totals_.push_back(Uninitialized<float>(size_t(padded_)));
            std::copy_n(totals_.data(), padded_, part_totals_.back().data());
        }
    }

    bool is_sized() const {
        const auto differs = [](float number) { return number != 1; };
        return std::any_of(x_.sizes, x_.sizes + x_.row_starts[x_.n_samples], differs) ||
               std::any_of(x_.copies, x_.copies + x_.n_samples, differs);
    }

    void list_topics() {
        lists_ = zeros<TopicBlock>(list_starts_.back());
        list_lengths_.resize(size_t(x_.n_samples));
        std::vector<int32_t> position(size_t(with_.components), -1);
        const auto clear = [&](int64_t d) {
            for (int32_t i = 0; i < list_lengths_[size_t(d)]; ++i)
                position[size_t(block(d, i).topics[i % topic_block])] = -1;
        };
        int64_t sample = 0;
        for_each_token([&](int64_t d, int64_t e, int32_t topic, int64_t) {
            if (d != sample) clear(sample), sample = d;
            int32_t& at = position[size_t(topic)];
            if (at < 0) at = list_lengths_[size_t(d)]++;
            TopicBlock& here = block(d, at);
            here.topics[at % topic_block] = topic;
            here.counts[at % topic_block] += x_.sizes[e];
            ++here.tokens[at % topic_block];
        });
    }

    TopicBlock& block(int64_t d, int64_t i) const {
        return lists_.data()[list_starts_[size_t(d)] + i / topic_block];
    }

    void walk(int64_t part, int64_t features, int64_t sweep) {
        const Uninitialized<float> memory(size_t(5 * padded_));
        current_level().walk_features({
            .first_feature = first_feature_[size_t(features)],
            .last_feature = first_feature_[size_t(features + 1)],
            .n_features = x_.n_features,
            .part = part,
            .parts = parts_,
            .token_starts = token_starts_.data(),
            .token_samples = token_samples_.data(),
            .token_sizes = token_sizes_.empty() ? nullptr : token_sizes_.data(),
            .token_weights = token_weights_.empty() ? nullptr : token_weights_.data(),
            .assignments = assignments_.data(),
            .list_starts = list_starts_.data(),
            .list_lengths = list_lengths_.data(),
            .lists = lists_.data(),
            .components = with_.components,
            .padded = padded_,
            .alpha = alpha_.data(),
            .eta = float(with_.eta),
            .eta_sum = float(with_.eta * double(x_.n_features)),
            .seed = with_.seed,
            .sweep = uint64_t(sweep),
            .totals = part_totals_[size_t(part)].data(),
            .memory = memory.data(),
        });
    }

    // Adds the changes of all parts to the totals of the topics.
    void merge_totals() {
        for (int64_t k = 0; k < with_.components; ++k) {
            const float before = totals_.data()[k];
            float total = before;
            for (const auto& totals : part_totals_) total += totals.data()[k] - before;
            totals_.data()[k] = std::max(0.0f, total);
            for (const auto& totals : part_totals_) totals.data()[k] = totals_.data()[k];
        }
    }

    // Adds the counts of a part of the samples and of a part of the features to their means.
    void add_to_means(int64_t part) {
        const float share = 1 / float(with_.averaged);
        for (int64_t d = first_sample_[size_t(part)]; d < first_sample_[size_t(part + 1)]; ++d) {
            float* mean = to_.weights + d * with_.components;
            for (int32_t i = 0; i < list_lengths_[size_t(d)]; ++i)
                mean[block(d, i).topics[i % topic_block]] +=
                    share * block(d, i).counts[i % topic_block];
        }
        // Counted first: many small additions to a mean would be rounded away.
        const Uninitialized<float> row = zeros<float>(with_.components);
        for (int64_t v = first_feature_[size_t(part)]; v < first_feature_[size_t(part + 1)]; ++v) {
            float* mean = to_.topics + v * with_.components;
            for_each_of_feature(v, [&](int64_t t) {
                row.data()[assignments_[size_t(t)]] +=
                    token_weights_.empty() ? 1.0f : token_weights_[size_t(t)];
            });
            for_each_of_feature(v, [&](int64_t t) {
                float& count = row.data()[assignments_[size_t(t)]];
                mean[assignments_[size_t(t)]] += share * count;
                count = 0;
            });
        }
    }

    // Visits the places of a feature's tokens.
    template <class Visit> void for_each_of_feature(int64_t v, const Visit& visit) const {
        for (int64_t i = 0; i < parts_; ++i) {
            const int64_t* starts = token_starts_.data() + i * x_.n_features + v;
            for (int64_t t = starts[0]; t < starts[1]; ++t) visit(t);
        }
    }

    void write_assignments() {
        for_each_token([&](int64_t, int64_t, int32_t& topic, int64_t place) {
            topic = assignments_[size_t(place)];
        });
    }

    const Tokens x_;
    const Sweeps with_;
    const Sampled to_;
    const int64_t padded_;
    const Uninitialized<float> alpha_;
    int64_t parts_ = 1;
    std::vector<int64_t> first_sample_, first_feature_;  // of each part
    std::vector<int64_t> token_starts_;                  // parts x features, and the end
    std::vector<int32_t> token_samples_, assignments_;
    std::vector<float> token_sizes_, token_weights_;  // none if all are one
    std::vector<int64_t> list_starts_;
    std::vector<int32_t> list_lengths_;
    Uninitialized<TopicBlock> lists_;
    Uninitialized<float> totals_;                    // of the topics, as they were after a step
    std::vector<Uninitialized<float>> part_totals_;  // and as each part sees them
};

}  // namespace

bool sample_by_feature(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled,
                       const Execution& execution) {
    return FeatureSampler(tokens, sweeps, sampled).run(execution);
}

}  // namespace isotopic
