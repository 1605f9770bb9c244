#include "sampling.hpp"

#include <algorithm>
#include <vector>

#include "pool.hpp"

namespace isotopic {
namespace {

constexpr int64_t block = 16;               // topics that share a sum
constexpr int64_t lanes = 4;                // that every machine has
constexpr int64_t few_topics = 64;          // are all tried for each token: vectors are faster
constexpr int64_t part_tokens = 250'000;    // fewer are not worth a copy of the topics' counts
constexpr int64_t most_parts = 4;           // more mix more slowly
constexpr int64_t most_copied = 1LL << 27;  // elements of all copies together
constexpr int64_t chunk_features = 256;
constexpr int64_t ahead = 4;        // entries whose topics are fetched before their turn
constexpr int n_walks = 4;          // samples that take turns
constexpr int tokens_between = 32;  // from one update of the totals' inverses to the next

uint64_t mixed(uint64_t bits) {  // splitmix64
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return bits ^ (bits >> 31);
}

// Random numbers of one sample in one sweep: they depend on nothing else.
class Random {
  public:
    Random(uint64_t seed, uint64_t sweep, uint64_t sample)
        : state_(mixed(seed ^ mixed(mixed(sweep + 1) + sample))) {}
    float below(float end) {
        state_ += 0x9e3779b97f4a7c15u;
        return end * (float(mixed(state_) >> 40) * (1.0f / 16777216));
    }

  private:
    uint64_t state_;
};

// Four numbers: narrow vectors, so that one that was just written can be read again at once.
typedef float Four __attribute__((vector_size(lanes * sizeof(float))));

Four load(const float* from) {
    Four four;
    __builtin_memcpy(&four, from, sizeof four);
    return four;
}
void store(float* to, Four four) { __builtin_memcpy(to, &four, sizeof four); }

constexpr Four at_lane[lanes] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};

// Changes one number of an array, which stays positive.
void change(float* numbers, int32_t at, float by) {
    float* four = numbers + at / lanes * lanes;
    const Four changed = load(four) + by * at_lane[at % lanes];
    store(four, changed > 0 ? changed : Four{});
}

// The counts of the topics as one part of the samples sees them.
struct Topics {
    std::vector<float> counts;           // features x padded components
    std::vector<float> totals, inverse;  // of each component: counts, 1 / (counts + eta)
};

class Sampler {
  public:
    Sampler(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled)
        : x_(tokens),
          with_(sweeps),
          to_(sampled),
          tries_all_(sweeps.components <= few_topics),
          blocks_(tries_all_ ? 0 : (sweeps.components + block - 1) / block),
          padded_(tries_all_ ? (sweeps.components + lanes - 1) / lanes * lanes : blocks_ * block),
          eta_(float(sweeps.eta)),
          eta_sum_(float(sweeps.eta * double(tokens.n_features))),
          alpha_(size_t(padded_)),
          shared_{},
          sums_(size_t(tokens.n_features * blocks_)) {
        std::copy(sweeps.alpha, sweeps.alpha + sweeps.components, alpha_.begin());
        divide_samples();
        count_tokens();
    }

    bool run(const Execution& execution) {
        for (int64_t sweep = 0; sweep < with_.sweeps; ++sweep) {
            const bool is_averaged = sweep >= with_.sweeps - with_.averaged;
            const int64_t parts = int64_t(parts_.size()),
                          chunks = (x_.n_features + chunk_features - 1) / chunk_features;
            Steps steps({chunks, parts, chunks}, execution.threads);
            merge_totals();
            const bool complete = steps.run(
                [&](int64_t step, int64_t chunk) {
                    if (step == 0) share(chunk);
                    if (step == 1) sweep_part(chunk, sweep, is_averaged);
                    if (step == 2) merge(chunk, is_averaged);
                },
                execution.interrupted);
            if (!complete) return false;
        }
        return true;
    }

  private:
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
            part.counts.resize(size_t(x_.n_features * padded_));
            part.inverse.assign(size_t(padded_), 0.0f);
        }
        if (parts_.size() > 1) shared_.counts.resize(parts_[0].counts.size());
        shared_.totals.assign(size_t(padded_), 0.0f);
        float* counts = whole_counts();
        const int32_t* assigned = to_.assignments;
        for (int64_t d = 0; d < x_.n_samples; ++d)
            for (int64_t e = x_.row_starts[d]; e < x_.row_starts[d + 1]; ++e)
                for (int32_t i = 0; i < x_.repeats[e]; ++i, ++assigned) {
                    const float size = x_.sizes[e] * x_.copies[d];
                    counts[x_.features[e] * padded_ + *assigned] += size;
                    shared_.totals[size_t(*assigned)] += size;
                }
        for (Topics& part : parts_) part.totals = shared_.totals;
    }

    // The counts of the topics by all samples; a single part needs no copy of them.
    float* whole_counts() {
        return parts_.size() > 1 ? shared_.counts.data() : parts_[0].counts.data();
    }

    // Adds the changes of all parts to the totals of the components.
    void merge_totals() {
        const std::vector<float> before = shared_.totals;
        for (const Topics& part : parts_)
            for (size_t k = 0; k < before.size(); ++k)
                shared_.totals[k] += part.totals[k] - before[k];
        for (Topics& part : parts_) {
            part.totals = shared_.totals;
            for (int64_t k = 0; k < with_.components; ++k)
                part.inverse[size_t(k)] = 1 / (part.totals[size_t(k)] + eta_sum_);
        }
    }

    // Gives each part the counts of some features, and sums them over blocks of topics.
    void share(int64_t chunk) {
        const int64_t last = std::min(x_.n_features, (chunk + 1) * chunk_features);
        const std::vector<float>& inverse = parts_[0].inverse;
        for (int64_t v = chunk * chunk_features; v < last; ++v) {
            const float* row = whole_counts() + v * padded_;
            if (parts_.size() > 1)
                for (Topics& part : parts_)
                    std::copy(row, row + padded_, part.counts.data() + v * padded_);
            float sum = 0;
            for (int64_t b = 0; b < blocks_; ++b) {
                float terms[block], of_block = 0;
                for (int64_t k = 0; k < block; ++k)
                    terms[k] = alpha_[size_t(b * block + k)] * (row[b * block + k] + eta_) *
                               inverse[size_t(b * block + k)];
                for (float term : terms) of_block += term;
                sum += of_block;
                sums_[size_t(v * blocks_ + b)] = sum;
            }
        }
    }

    // Adds the changes of all parts to the counts of some features.
    void merge(int64_t chunk, bool is_averaged) {
        const int64_t last = std::min(x_.n_features, (chunk + 1) * chunk_features);
        const float share = 1 / float(std::max<int64_t>(with_.averaged, 1));
        for (int64_t v = chunk * chunk_features; v < last; ++v) {
            float* row = whole_counts() + v * padded_;
            for (int64_t k = 0; parts_.size() > 1 && k < padded_; ++k) {
                const float before = row[k];
                float change = 0;
                for (const Topics& part : parts_)
                    change += part.counts[size_t(v * padded_ + k)] - before;
                row[k] = std::max(0.0f, before + change);
            }
            if (!is_averaged) continue;
            float* mean = to_.topics + v * with_.components;
            for (int64_t k = 0; k < with_.components; ++k) mean[k] += share * row[k];
        }
    }

    // The topics of one sample, and what it counts of each.
    struct Sample {
        std::vector<int32_t> topics, tokens;
        std::vector<int32_t> position;  // of each topic among these; -1 if it has no tokens
        std::vector<float> counts, sums;
        int32_t n = 0;
        explicit Sample(int64_t components)
            : topics(size_t(components)),
              tokens(size_t(components)),
              position(size_t(components), -1),
              counts(size_t(components)),
              sums(size_t(components)) {}
        void add(int32_t topic, float size) {
            int32_t& at = position[size_t(topic)];
            if (at < 0) {
                at = n++;
                topics[size_t(at)] = topic, tokens[size_t(at)] = 0, counts[size_t(at)] = 0;
            }
            ++tokens[size_t(at)];
            counts[size_t(at)] += size;
        }
        void remove(int32_t topic, float size) {
            const int32_t at = position[size_t(topic)];
            counts[size_t(at)] = std::max(0.0f, counts[size_t(at)] - size);
            if (--tokens[size_t(at)] > 0) return;
            position[size_t(topic)] = -1;
            if (at == --n) return;
            topics[size_t(at)] = topics[size_t(n)], tokens[size_t(at)] = tokens[size_t(n)];
            counts[size_t(at)] = counts[size_t(n)];
            position[size_t(topics[size_t(at)])] = at;
        }
        void clear() {
            for (int32_t i = 0; i < n; ++i) position[size_t(topics[size_t(i)])] = -1;
            n = 0;
        }
    };

    void sweep_part(int64_t part, int64_t sweep, bool is_averaged) {
        if (tries_all_) return try_all_in_part(part, sweep, is_averaged);
        Topics& topics = parts_[size_t(part)];
        Sample sample(with_.components);
        const float share = 1 / float(std::max<int64_t>(with_.averaged, 1));
        for (int64_t d = first_sample_[size_t(part)]; d < first_sample_[size_t(part + 1)]; ++d) {
            sweep_sample(d, sweep, topics, sample);
            if (is_averaged) {
                float* mean = to_.weights + d * with_.components;
                for (int32_t i = 0; i < sample.n; ++i)
                    mean[sample.topics[size_t(i)]] += share * sample.counts[size_t(i)];
            }
            sample.clear();
        }
    }

    void sweep_sample(int64_t d, int64_t sweep, Topics& topics, Sample& sample) {
        const int64_t first = x_.row_starts[d], last = x_.row_starts[d + 1];
        int32_t* assigned = to_.assignments + first_token_[size_t(d)];
        for (int64_t e = first; e < last; ++e)
            for (int32_t i = 0; i < x_.repeats[e]; ++i) sample.add(*assigned++, x_.sizes[e]);
        assigned = to_.assignments + first_token_[size_t(d)];
        Random random(with_.seed, uint64_t(sweep), uint64_t(d));
        const float copies = x_.copies[d];
        for (int64_t e = first; e < last; ++e) {
            const int64_t later = std::min(e + ahead, last - 1);
            __builtin_prefetch(topics.counts.data() + x_.features[later] * padded_);
            const int64_t feature = x_.features[e];
            float* row = topics.counts.data() + feature * padded_;
            const float size = x_.sizes[e];
            const auto count = [&](int32_t topic, float change) {
                row[topic] = std::max(0.0f, row[topic] + change);
                float& total = topics.totals[size_t(topic)];
                total = std::max(0.0f, total + change);
                topics.inverse[size_t(topic)] = 1 / (total + eta_sum_);
            };
            for (int32_t i = 0; i < x_.repeats[e]; ++i, ++assigned) {
                count(*assigned, -size * copies);
                sample.remove(*assigned, size);
                *assigned = draw(sums_.data() + feature * blocks_, row, topics, sample, random);
                sample.add(*assigned, size);
                count(*assigned, size * copies);
            }
        }
    }

    // Draws the topic of a token of the feature whose counts are `row`.
    int32_t draw(const float* sums, const float* row, const Topics& topics, Sample& sample,
                 Random& random) const {
        float of_sample = 0;
        for (int32_t i = 0; i < sample.n; ++i) {
            const size_t k = size_t(sample.topics[size_t(i)]);
            of_sample += sample.counts[size_t(i)] * (row[k] + eta_) * topics.inverse[k];
            sample.sums[size_t(i)] = of_sample;
        }
        float at = random.below(of_sample + sums[blocks_ - 1]);
        if (at < of_sample) {
            int32_t i = 0;
            while (i < sample.n - 1 && sample.sums[size_t(i)] <= at) ++i;
            return sample.topics[size_t(i)];
        }
        at -= of_sample;
        const int64_t b = std::min(blocks_ - 1, std::upper_bound(sums, sums + blocks_, at) - sums);
        const float before = b > 0 ? sums[b - 1] : 0.0f, width = sums[b] - before;
        float terms[block], now = 0;
        for (int64_t k = 0; k < block; ++k) {
            const size_t topic = size_t(b * block + k);
            terms[k] = alpha_[topic] * (row[topic] + eta_) * topics.inverse[topic];
            now += terms[k];
        }
        float rest = width > 0 ? (at - before) / width * now : 0.0f;
        const int64_t last = std::min(block, with_.components - b * block) - 1;
        int64_t k = 0;
        while (k < last && (rest -= terms[k]) >= 0) ++k;
        return int32_t(b * block + k);
    }

    // A sample on its way through its tokens, with few topics: the chances of all are computed.
    struct Walk {
        int64_t sample = -1, entry = 0, last = 0;
        int32_t token = 0;  // of the entry
        int32_t* assigned = nullptr;
        Random random{0, 0, 0};
        std::vector<float> counts, sums;
    };
    // Some samples take turns: while the topic of one token is searched for, the processor can
    // already compute the chances of the others'.
    void try_all_in_part(int64_t part, int64_t sweep, bool is_averaged) {
        Topics& topics = parts_[size_t(part)];
        int64_t next = first_sample_[size_t(part)];
        Walk walks[n_walks];
        for (Walk& walk : walks)
            walk.counts.resize(size_t(padded_)), walk.sums.resize(size_t(padded_));
        const auto goes_on = [&](Walk& walk) {
            if (walk.entry < walk.last) return true;
            if (is_averaged && walk.sample >= 0) add_to_mean(walk);
            walk.sample = -1;
            const int64_t end = first_sample_[size_t(part + 1)];
            while (next < end && x_.row_starts[next] == x_.row_starts[next + 1]) ++next;
            if (next == end) return false;
            begin(walk, next++, sweep);
            return true;
        };
        int until_update = 0;
        for (bool any = true; any;) {
            any = false;
            for (Walk& walk : walks) {
                if (!goes_on(walk)) continue;
                any = true;
                if (until_update-- == 0) invert_totals(topics), until_update = tokens_between;
                step(walk, topics);
            }
        }
    }

    void begin(Walk& walk, int64_t sample, int64_t sweep) const {
        walk.sample = sample;
        walk.entry = x_.row_starts[sample], walk.last = x_.row_starts[sample + 1];
        walk.assigned = to_.assignments + first_token_[size_t(sample)];
        walk.random = Random(with_.seed, uint64_t(sweep), uint64_t(sample));
        std::fill(walk.counts.begin(), walk.counts.end(), 0.0f);
        const int32_t* assigned = walk.assigned;
        for (int64_t e = walk.entry; e < walk.last; ++e)
            for (int32_t i = 0; i < x_.repeats[e]; ++i)
                walk.counts[size_t(*assigned++)] += x_.sizes[e];
    }

    void add_to_mean(const Walk& walk) const {
        float* mean = to_.weights + walk.sample * with_.components;
        for (int64_t k = 0; k < with_.components; ++k)
            mean[k] += walk.counts[size_t(k)] / float(with_.averaged);
    }

    void invert_totals(Topics& topics) const {
        for (int64_t k = 0; k < padded_; k += lanes) {
            const Four totals = load(topics.totals.data() + k);
            const Four positive = totals > 0 ? totals : Four{};
            store(topics.inverse.data() + k, 1 / (positive + eta_sum_));
        }
    }

    // Draws the topic of a sample's next token. The totals of all topics change by it, but their
    // inverses only after some tokens: by then, they differ little.
    void step(Walk& walk, Topics& topics) const {
        const int64_t later = std::min(walk.entry + ahead, walk.last - 1);
        __builtin_prefetch(topics.counts.data() + x_.features[later] * padded_);
        const int64_t entry = walk.entry;
        const float size = x_.sizes[entry], of_topic = size * x_.copies[walk.sample];
        float *row = topics.counts.data() + x_.features[entry] * padded_,
              *counts = walk.counts.data();
        const int32_t old = *walk.assigned;
        change(counts, old, -size);
        change(row, old, -of_topic);
        const Four sum = sum_chances(counts, row, topics.inverse.data(), walk.sums.data());
        const int32_t drawn = draw_of_all(sum, walk.sums.data(), walk.random);
        change(counts, drawn, size);
        change(row, drawn, of_topic);
        topics.totals[size_t(old)] -= of_topic;
        topics.totals[size_t(drawn)] += of_topic;
        *walk.assigned++ = drawn;
        if (++walk.token == x_.repeats[entry]) walk.token = 0, ++walk.entry;
    }

    // Returns the sum of the chances in each lane; `sums` get those up to each topic.
    Four sum_chances(const float* counts, const float* row, const float* inverse,
                     float* sums) const {
        Four sum{};
        for (int64_t k = 0; k < padded_; k += lanes) {
            const Four weights = load(counts + k) + load(alpha_.data() + k);
            sum += weights * (load(row + k) + eta_) * load(inverse + k);
            store(sums + k, sum);
        }
        return sum;
    }

    // Draws a lane, then a topic in it.
    int32_t draw_of_all(Four sum, const float* sums, Random& random) const {
        const float starts[lanes] = {0, sum[0], sum[0] + sum[1], sum[0] + sum[1] + sum[2]};
        const float at = random.below(starts[3] + sum[3]);
        const int64_t lane = (at >= starts[1]) + (at >= starts[2]) + (at >= starts[3]);
        const float rest = at - starts[lane];
        int64_t k = lane;
        for (int64_t i = lane; i < padded_ - lanes; i += lanes) k += sums[i] <= rest ? lanes : 0;
        return int32_t(std::min(k, with_.components - 1));
    }

    const Tokens x_;
    const Sweeps with_;
    const Sampled to_;
    const bool tries_all_;
    const int64_t blocks_, padded_;
    const float eta_, eta_sum_;
    std::vector<float> alpha_;
    Topics shared_;            // the counts of all parts, as they were after the last sweep
    std::vector<float> sums_;  // features x blocks: cumulative, with alpha
    std::vector<Topics> parts_;
    std::vector<int64_t> first_token_, first_sample_;
};

}  // namespace

bool sample_sweeps(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled,
                   const Execution& execution) {
    std::fill_n(sampled.weights, tokens.n_samples * sweeps.components, 0.0f);
    std::fill_n(sampled.topics, tokens.n_features * sweeps.components, 0.0f);
    return Sampler(tokens, sweeps, sampled).run(execution);
}

}  // namespace isotopic
