// Gibbs sampling with many topics, feature by feature.
#pragma once
#include "sampling.hpp"

namespace isotopic {

// Samples in `sweeps` sweeps. Returns false if it was interrupted.
//
// A sweep visits the tokens feature by feature. So the counts of one feature by topic are all that
// is needed of the topics, and stay in the cache. Each sample has a list of its topics. A token's
// chances are its feature's, times the counts of its sample, plus those times alpha. The first sum
// runs over the list only, so the cost follows the topics of the samples (Yu, Hsieh, Yun,
// Vishwanathan & Dhillon, 2015).
//
// Samples and features are cut into as many parts as each other. In each step of a sweep every part
// of the samples visits another part of the features, so none writes what another reads, except
// the totals of the topics, which are merged after each step. The number of parts depends on the
// data alone, so the bits do not depend on the threads.
bool sample_by_feature(const Tokens& tokens, const Sweeps& sweeps, const Sampled& sampled,
                       const Execution& execution);

}  // namespace isotopic
