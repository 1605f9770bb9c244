// Collapsed Gibbs sampling of LDA: each token is assigned to a topic, given those of all others.
#pragma once
#include "pass.hpp"

namespace isotopic {

// The tokens of a matrix of counts. Those of one entry follow each other.
struct Tokens {
    int64_t n_samples = 0, n_features = 0;
    const int64_t* row_starts = nullptr;  // of the entries
    const int32_t* features = nullptr;    // of each entry
    const int32_t* repeats = nullptr;     // the tokens of each entry
    const float* sizes = nullptr;         // what each token of an entry counts in its sample
    const float* copies = nullptr;        // how often each sample counts in the topics
};

// Sweeps over all tokens, with fixed concentrations of the weights and of the topics.
struct Sweeps {
    int64_t components = 0;
    const double* alpha = nullptr;  // of each component
    double eta = 0;
    uint64_t seed = 0;
    int64_t sweeps = 0, averaged = 0;  // the last sweeps, whose counts are averaged; see below
};

struct Sampled {
    int32_t* assignments = nullptr;  // the topic of each token; the start, and where it ended
    float* weights = nullptr;        // samples x components: counts
    float* topics = nullptr;         // features x components
};

// Samples in `sweeps` sweeps. Returns false if it was interrupted.
//
// With few topics, the chances of all are computed for each token (walks.hpp). The samples are cut
// into parts, each with its own copy of the topics' counts. After a sweep the changes of all parts
// are added (Newman, Asuncion, Smyth & Welling, 2009). The number of parts depends on the data
// alone, so the bits do not depend on the threads. With many topics, see sampling_by_feature.hpp.
//
// Without averaged sweeps, the counts are those of the topics that were drawn last. The mean is one
// of expected counts where the chances of all topics are computed, and of drawn ones otherwise.
bool sample_sweeps(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled,
                   const Execution& execution);

// Draws the first topics of all tokens. Returns false if it was interrupted.
bool draw_topics(const TopicDraws& draws, int64_t n_samples, const Execution& execution);

}  // namespace isotopic
