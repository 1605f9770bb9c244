// Gibbs sampling whose cost follows the topics of a sample, for one instruction-set level; see
// `FeatureWalks` in kernels.hpp.
#pragma once
#include "chances.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

constexpr int64_t lists_ahead = 8;  // tokens whose samples are fetched before their turn

inline float positive(float number) { return number > 0 ? number : 0; }

inline vec<float> gathered(const float* numbers, ints<float> at) {
#if defined(__AVX512F__)
    return vec<float>(_mm512_i32gather_ps(__m512i(at), numbers, sizeof(float)));
#else
    vec<float> v;
    for (int i = 0; i < walk_lanes; ++i) v[i] = numbers[at[i]];
    return v;
#endif
}

// The topics of one sample, and how often it has each, in no particular order. Behind the last one
// are zeros up to a whole block.
struct TopicList {
    TopicBlock* blocks = nullptr;
    int32_t* length = nullptr;

    int32_t& topic(int32_t i) const { return blocks[i / topic_block].topics[i % topic_block]; }
    float& count(int32_t i) const { return blocks[i / topic_block].counts[i % topic_block]; }
    int32_t& tokens(int32_t i) const { return blocks[i / topic_block].tokens[i % topic_block]; }

    // Returns the place of a topic, or the length if it is not listed.
    int32_t find(int32_t wanted) const {
        for (int32_t i = 0; i < *length; i += walk_lanes) {
            const ints<float> is_wanted = topics_from(i) == wanted;
            if (!any(is_wanted)) continue;
            for (int lane = 0; lane < walk_lanes; ++lane)
                if (is_wanted[lane] && i + lane < *length) return i + lane;
        }
        return *length;
    }
    ints<float> topics_from(int32_t i) const {
        ints<float> topics;
        __builtin_memcpy(&topics, &topic(i), sizeof topics);
        return topics;
    }
    void add(int32_t added, float size) const {
        const int32_t i = find(added);
        if (i == *length) topic((*length)++) = added;
        count(i) += size;
        ++tokens(i);
    }
    void remove(int32_t removed, float size) const {
        const int32_t i = find(removed);
        count(i) = positive(count(i) - size);
        if (--tokens(i) > 0) return;
        const int32_t last = --*length;
        topic(i) = topic(last), count(i) = count(last), tokens(i) = tokens(last);
        topic(last) = 0, count(last) = 0, tokens(last) = 0;
    }
};

// With Plain, every token and sample counts one.
template <bool Plain> struct FeatureSweep {
    const FeatureWalks w;
    float* const row = w.memory;                   // the feature's count of each topic
    float* const chances = row + w.padded;         // (row + eta) / (totals + eta_sum)
    float* const inverse = chances + w.padded;     // 1 / (totals + eta_sum)
    float* const of_vectors = inverse + w.padded;  // sums of alpha * chances
    float* const memory = of_vectors + w.padded;   // of draws
    float smooth = 0;                              // the sum of alpha * chances

    void set_inverse(int64_t k) { inverse[k] = 1 / (w.totals[k] + w.eta_sum); }

    // Counts the feature's tokens, and computes the chances of all topics.
    void begin(int64_t feature) {
        for (int64_t k = 0; k < w.padded; k += walk_lanes) store<float>(row + k, vec<float>{});
        for (int64_t part = 0; part < w.parts; ++part) {
            const int64_t* starts = w.token_starts + part * w.n_features + feature;
            for (int64_t t = starts[0]; t < starts[1]; ++t)
                row[w.assignments[t]] += Plain ? 1.0f : w.token_weights[t];
        }
        vec<float> all{};
        for (int64_t k = 0; k < w.padded; k += walk_lanes * walk_lanes) {
            vec<float> terms[walk_lanes];
            for (int64_t i = 0; i < walk_lanes; ++i) {
                const int64_t at = k + i * walk_lanes;
                const vec<float> chance =
                    (load<float>(row + at) + w.eta) * load<float>(inverse + at);
                store<float>(chances + at, chance);
                terms[i] = chance * load<float>(w.alpha + at);
            }
            const vec<float> sums = sums_of<float>(terms);
            store<float>(of_vectors + k / walk_lanes, sums);
            all += sums;
        }
        smooth = sum<float>(all);
    }

    void count(int32_t topic, float change) {
        row[topic] += change;
        w.totals[topic] += change;
        if (!Plain) {
            row[topic] = positive(row[topic]);
            w.totals[topic] = positive(w.totals[topic]);
        }
        set_inverse(topic);
        const float chance = (row[topic] + w.eta) * inverse[topic],
                    by = w.alpha[topic] * (chance - chances[topic]);
        chances[topic] = chance;
        of_vectors[topic / walk_lanes] += by;
        smooth += by;
    }

    // Draws a topic by its concentration alone, without the token.
    int32_t draw_smooth(Random& random) const {
        Chances vectors{memory};
        for (int64_t k = 0; k < w.padded / walk_lanes; k += walk_lanes)
            vectors.add(load<float>(of_vectors + k));
        const int64_t first = vectors.at(random.next() * vectors.total()) * walk_lanes;
        Chances topics{memory};
        topics.add(load<float>(chances + first) * load<float>(w.alpha + first));
        const int64_t topic = first + topics.at(random.next() * topics.total());
        return int32_t(topic < w.components ? topic : w.components - 1);
    }

    void step(int64_t t, Random& random) {
        const int32_t sample = w.token_samples[t], old = w.assignments[t];
        const TopicList list{w.lists + w.list_starts[sample], w.list_lengths + sample};
        const float size = Plain ? 1.0f : w.token_sizes[t],
                    weight = Plain ? 1.0f : w.token_weights[t];
        // What its own topic's chance is without the token. Most tokens keep their topic, and
        // then nothing is written.
        const float rest =
            (positive(row[old] - weight) + w.eta) / (positive(w.totals[old] - weight) + w.eta_sum);
        Chances of_sample{memory};
        for (int32_t i = 0; i < *list.length; i += walk_lanes) {
            const ints<float> topics = list.topics_from(i);
            const vec<float> counts = load<float>(&list.count(i)), without = counts - size;
            of_sample.add(topics == old ? (without > 0.0f ? without : vec<float>{}) * rest
                                        : counts * gathered(chances, topics));
        }
        const float in_sample = of_sample.total();
        const float number =
            random.next() * (in_sample + smooth + w.alpha[old] * (rest - chances[old]));
        int32_t drawn;
        if (number < in_sample) {
            const int32_t i = int32_t(of_sample.at(number)), last = *list.length - 1;
            drawn = list.topic(i < last ? i : last);
            if (drawn == old) return;
            count(old, -weight);
        } else {
            count(old, -weight);
            drawn = draw_smooth(random);
        }
        count(drawn, weight);
        if (drawn == old) return;
        list.remove(old, size);
        list.add(drawn, size);
        w.assignments[t] = drawn;
    }

    void run() {
        for (int64_t k = 0; k < w.padded; ++k) set_inverse(k);
        const int64_t* starts = w.token_starts + w.part * w.n_features;
        const int64_t end = starts[w.last_feature];
        for (int64_t feature = w.first_feature; feature < w.last_feature; ++feature) {
            if (starts[feature] == starts[feature + 1]) continue;
            begin(feature);
            Random random(w.seed, w.sweep, uint64_t(w.part * w.n_features + feature));
            for (int64_t t = starts[feature]; t < starts[feature + 1]; ++t) {
                if (t + lists_ahead < end) fetch(w.token_samples[t + lists_ahead]);
                step(t, random);
            }
        }
    }

    void fetch(int32_t sample) const {
        const TopicBlock* list = w.lists + w.list_starts[sample];
        __builtin_prefetch(list->topics);
        __builtin_prefetch(list->counts);
        __builtin_prefetch(list->tokens);
    }
};

inline void walk_features(const FeatureWalks& walks) {
    if (walks.token_sizes)
        FeatureSweep<false>{walks}.run();
    else
        FeatureSweep<true>{walks}.run();
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
