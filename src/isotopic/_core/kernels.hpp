// The hot loops of one instruction-set level, as a table of plain functions.
//
// This header and kernels.cpp use no part of the standard library that emits code: whatever
// kernels.cpp instantiates is compiled for its level and must not be linked into another one.
#pragma once
#include <cstdint>

namespace isotopic {

// One block of samples in a pass over the counts.
//
// "Padded" means that the components are rounded up to whole vectors and the rest is zero. `ratios`
// holds x / (weights @ topics) for the entries of the block; the product itself is not kept.
template <class T> struct Block {
    // The counts by sample. The starts and ends of rows are positions in the whole matrix.
    int64_t n_entries = 0;  // of the whole matrix
    const int64_t* row_starts = nullptr;
    const int64_t* row_ends = nullptr;
    const int32_t* features = nullptr;
    const T* values = nullptr;
    // The block's entries by feature, for the features that occur in it.
    const int32_t* column_features = nullptr;
    const uint32_t* column_starts = nullptr;
    const uint16_t* entry_rows = nullptr;   // sample, counted from the start of the block
    const uint32_t* entry_order = nullptr;  // position of the entry in `ratios`
    // The factors.
    int64_t components = 0;
    int64_t registers = 0;  // vectors that hold the padded components
    int64_t n_features = 0;
    int64_t range_features = 0;  // number of features whose topics fit into the cache together
    const T* weights = nullptr;  // samples x components
    const T* topics = nullptr;   // features x padded components
    // Where the block begins, and its buffers.
    int64_t first_row = 0;
    int64_t first_entry = 0;
    T* block_weights = nullptr;  // samples of the block x padded components
    T* block_sums = nullptr;     // the same shape: sum of ratio * topics
    int64_t* cursors = nullptr;  // for each sample of the block: its next entry
    T* ratios = nullptr;         // null when only the weights' counts are needed
    // Results.
    T* weight_counts = nullptr;         // samples x components
    double* log_likelihoods = nullptr;  // by sample
    T* topic_sums = nullptr;            // features x padded components: sum of ratio * weights
};

// Topics on their way between the caller's arrays (features x components) and padded ones.
template <class T> struct TopicBuffers {
    int64_t components = 0;
    int64_t padded = 0;
    const bool* needed = nullptr;  // by feature: whether to copy its topics; null copies all
    const T* given = nullptr;      // features x components
    T* topics = nullptr;           // features x padded components
    T* topic_sums = nullptr;       // features x padded components
    T* counts = nullptr;           // features x components
};

// Positive posterior parameters, and what the next pass and the bound need of them.
template <class T> struct Posterior {
    int64_t columns = 0;
    const T* parameters = nullptr;           // rows x columns
    const T* counts = nullptr;               // rows x columns: parameters minus the prior's
    const double* row_offsets = nullptr;     // may be null
    const double* column_offsets = nullptr;  // may be null
    T* effective = nullptr;                  // exp(digamma(parameters) - offsets)
    double* terms = nullptr;  // by row: sum of log_gamma(parameters) - counts * digamma(parameters)
};

// Posterior parameters of which the mean is used, and what the next pass and the objective need.
// Neither sums nor prior are stored for each entry if rows or columns share them.
template <class T> struct MeanPosterior {
    int64_t columns = 0;
    const T* parameters = nullptr;         // rows x columns
    const T* counts = nullptr;             // rows x columns
    const T* self_contribution = nullptr;  // rows x columns; may be null: zero
    const double* prior = nullptr;         // of entry (i, k) at i * prior_row + k * prior_column
    int64_t prior_row = 0;
    int64_t prior_column = 0;             // zero or one
    const double* row_sums = nullptr;     // the sums by which to divide: those of the rows,
    const double* column_sums = nullptr;  // or those of the columns; the other is null
    T* mean = nullptr;                    // parameters / sum
    T* effective = nullptr;               // ((1 - self) counts + prior) / sum; null without self
    double* terms =
        nullptr;  // by row: sum of prior / (1 - self) log((1 - self) counts / prior + 1)
};

// Two tables of which the second may be scaled: a - row_scale * column_scale * b.
template <class T> struct Difference {
    int64_t columns = 0;
    const T* a = nullptr;
    const T* b = nullptr;
    const double* row_scale = nullptr;     // may be null
    const double* column_scale = nullptr;  // may be null
};

// A table times a scale for each row or for each column; the other scale is null.
template <class T> struct Scaling {
    int64_t columns = 0;
    const T* from = nullptr;
    const double* row_scale = nullptr;
    const double* column_scale = nullptr;
    T* to = nullptr;  // may be `from`
};

// Counts extrapolated from their last two values; see `Kernels::extrapolate`.
template <class T> struct Extrapolation {
    int64_t columns = 0;
    const T* latest = nullptr;         // rows x columns
    const T* previous = nullptr;       // rows x columns
    const double* totals = nullptr;    // by row
    const double* momentum = nullptr;  // by row
    const double* floor = nullptr;     // by row, as a part of the total
    T* to = nullptr;                   // rows x columns
};

// Counts by sample, and both factors (samples or features x components).
template <class T> struct SquaredShares {
    int64_t components = 0;
    const int64_t* row_starts = nullptr;
    const int32_t* features = nullptr;
    const T* values = nullptr;
    const T* weights = nullptr;
    const T* topics = nullptr;
    T* to = nullptr;  // by entry: its count times the sum of its squared shares
};

// Coordinate descent on the weights of each sample, with the other side's factors fixed.
template <class T> struct Descent {
    int64_t components = 0;
    int64_t padded = 0;
    int64_t n_features = 0;
    int64_t sweeps = 0;
    const int64_t* row_starts = nullptr;
    const int32_t* features = nullptr;
    const T* values = nullptr;
    const T* others = nullptr;        // features x padded components
    const double* slopes = nullptr;   // by component, positive: the cost of a weight of one
    const double* repeats = nullptr;  // by sample: a factor of its slopes; null means 1
    const T* from = nullptr;          // samples x components
    T* to = nullptr;                  // samples x components
};

// Accelerated EM on the weights of each sample on its own, next to known topics.
//
// From absorbed counts the prior makes the parameters counts * others + prior. The effective
// weights are exp(digamma(parameters)) if it is variational, else the parameters themselves, times
// a scale; without a scale they are those of a row that sums to one.
template <class T> struct Inference {
    int64_t components = 0;
    int64_t padded = 0;
    int64_t n_features = 0;
    const int64_t* row_starts = nullptr;
    const int64_t* row_ends = nullptr;
    const int32_t* features = nullptr;
    const T* values = nullptr;
    const T* topics = nullptr;  // features x padded components
    // The prior.
    const double* prior = nullptr;  // by component, or samples x components
    bool one_prior = true;          // the same for all samples
    const T* others = nullptr;      // samples x components; null means 1
    const double* scale = nullptr;  // by component; null: rows sum to one
    bool is_variational = false;
    // When to stop, and how far to extrapolate.
    double tol = 0;
    int64_t max_updates = 0;
    double first_momentum = 0, least_momentum = 0, most_momentum = 0, growth = 0;
    double first_floor = 0, shrinkage = 0, floor_to_residual = 0;
    // Results by sample.
    T* counts = nullptr;   // samples x components
    T* squares = nullptr;  // samples x components: sum x min(x, 1) phi^2; may be null
    double* log_likelihoods = nullptr;
    double* residuals = nullptr;
    int64_t* updates = nullptr;
};

// Stepwise selection of reference topics for each sample; see selection.hpp.
struct Selection {
    int64_t components = 0;
    int64_t n_features = 0;
    const int64_t* row_starts = nullptr;
    const int32_t* features = nullptr;
    const double* values = nullptr;
    const double* topics = nullptr;     // features x components; each component sums to one
    const double* penalties = nullptr;  // of each topic, by sample
    double background = 0;              // the part of each topic that is uniform, while selecting
    double fall = 0;                    // of the log-likelihood, at the ends of an interval
    double least_margin = 0;            // of a topic that is kept, by dispersion
    bool estimates_dispersion = false;
    // Results, samples x components: zeros for topics that are absent.
    double* weights = nullptr;
    double* losses = nullptr;   // of log-likelihood, without the topic
    double* margins = nullptr;  // to the best choice without the topic
    double* lower = nullptr;
    double* upper = nullptr;
    double* dispersions = nullptr;  // by sample
};

// Entries of a feature whose exposures are read together.
constexpr int64_t rate_tile = 256;

// Rates of each feature in each topic, given the exposures of the samples; see rates.hpp.
struct RateFit {
    int64_t components = 0;
    const int64_t* column_starts = nullptr;
    const int32_t* samples = nullptr;
    const double* values = nullptr;
    const double* exposures = nullptr;  // samples x components
    const double* totals = nullptr;     // the sums of the exposures, by component
    const double* overall = nullptr;    // the rate of each feature in all samples; 0: not fitted
    double pseudo_count = 0;
    double* rates = nullptr;       // features x components: where the fit starts, and its result
    double* covariance = nullptr;  // features x components x components, of the logarithms
};

// Runs that are fitted together; see stack.hpp.
constexpr int stack_width = 16;

// A pass over the counts for the factors of all runs of a stack.
//
// A segment holds the entries of one feature in a block of samples. All tables are aligned to whole
// vectors. The counts are zero before the pass.
struct Stack {
    int64_t components = 0;
    int64_t n_samples = 0;
    int64_t n_features = 0;
    int64_t n_segments = 0;
    const int32_t* segment_features = nullptr;
    const int64_t* segment_starts = nullptr;
    const int32_t* entry_rows = nullptr;
    bool has_own_values = false;        // whether each run has its own counts
    const float* values = nullptr;      // entries, or entries x runs
    const float* weights = nullptr;     // samples x components x runs
    const float* topics = nullptr;      // features x components x runs, each with a sum of one
    const double* totals = nullptr;     // components x runs: the sums of the weights
    float* weight_counts = nullptr;     // samples x components x runs
    float* topic_counts = nullptr;      // features x components x runs
    double* log_likelihoods = nullptr;  // by run
    double* weight_gaps = nullptr;      // by run: sum |weights - counts|
    double* topic_gaps = nullptr;       // by run: sum |topics * totals - counts|
};

// Counts of the runs of a stack, extrapolated from their last two values.
struct StackExtrapolation {
    int64_t rows = 0;
    int64_t components = 0;
    const float* latest = nullptr;    // rows x components x runs
    const float* previous = nullptr;  // rows x components x runs
    const float* totals = nullptr;    // rows x runs
    const float* momentum = nullptr;  // by run
    const float* floor = nullptr;     // by run, as a part of the total
    float* to = nullptr;              // rows x components x runs
};

constexpr int64_t most_walk_components = 256;  // of `SampleWalks`
constexpr int most_walks = 16;                 // samples that are on their way at the same time
constexpr int64_t walk_ahead = 2;              // tokens whose topics are fetched before their turn

// Some samples in one sweep of Gibbs sampling. "Padded" means whole vectors, the rest zero.
struct SampleWalks {
    int64_t first_sample = 0, last_sample = 0;
    const int64_t* token_starts = nullptr;  // by sample
    // By token. Behind the last one are the features of `walk_ahead` others.
    const int32_t* token_features = nullptr;
    const float* token_sizes = nullptr;  // null if all are one
    int32_t* assignments = nullptr;
    const float* copies = nullptr;  // by sample
    int64_t components = 0, padded = 0;
    const float* alpha = nullptr;  // padded
    float eta = 0, eta_sum = 0;
    uint64_t seed = 0, sweep = 0;
    float* counts = nullptr;                      // features x padded
    float *totals = nullptr, *inverse = nullptr;  // padded; 1 / (totals + eta_sum)
    float* expected = nullptr;      // features x padded: added to in an averaged sweep, or null
    float* mean_weights = nullptr;  // samples x components, or null
    float share = 0;                // of this sweep in the mean
    float* memory = nullptr;        // two rows, of padded components, for each walk
};

// Draws of a topic for each token, by the responsibilities of its entry.
struct TopicDraws {
    const int64_t* row_starts = nullptr;
    const int32_t *features = nullptr, *repeats = nullptr;  // of each entry
    const int64_t* token_starts = nullptr;                  // by sample
    int64_t components = 0, padded = 0;
    const float* weights = nullptr;  // samples x components
    const float* topics = nullptr;   // features x padded
    uint64_t seed = 0;
    int32_t* assignments = nullptr;
};

constexpr int64_t topic_block = 16;

// Some of the topics of a sample, and how often it has each.
struct alignas(64) TopicBlock {
    int32_t topics[topic_block];
    float counts[topic_block];
    int32_t tokens[topic_block];
};

// The tokens of some features in a part of the samples, in one sweep of Gibbs sampling. The tokens
// are ordered by part, then by feature.
struct FeatureWalks {
    int64_t first_feature = 0, last_feature = 0, n_features = 0, part = 0, parts = 1;
    const int64_t* token_starts = nullptr;                         // parts x features, and the end
    const int32_t* token_samples = nullptr;                        // by token, as the next three
    const float *token_sizes = nullptr, *token_weights = nullptr;  // null if all are one
    int32_t* assignments = nullptr;
    const int64_t* list_starts = nullptr;  // by sample: its first block of topics
    int32_t* list_lengths = nullptr;       // by sample
    TopicBlock* lists = nullptr;
    int64_t components = 0, padded = 0;  // to the square of the lanes
    const float* alpha = nullptr;        // padded with zeros
    float eta = 0, eta_sum = 0;
    uint64_t seed = 0, sweep = 0;
    float* totals = nullptr;  // padded
    float* memory = nullptr;  // five rows of padded components
};

// Counts of some sizes and shares, and how many of each there are.
struct Bins {
    int64_t n = 0;  // in whole vectors
    const double* weights = nullptr;
    const double* sizes = nullptr;
    const double* shares = nullptr;
};

// Whether a count is known to be positive, or a sum of many small draws, or of dependent draws of
// which each has a share.
enum class Occurs { always = 0, independently = 1, dependently = 2 };

// What the likelihood of the counts of a row gains and loses by a larger concentration.
template <class T> struct Slopes {
    int64_t columns = 0;
    const T* counts = nullptr;
    const T* squares = nullptr;     // may be null
    const double* prior = nullptr;  // the concentrations; zero where an entry is forbidden
    int64_t prior_row = 0;          // from one row of the prior to the next; zero if all share one
    Occurs occurs = Occurs::always;
    double* gains = nullptr;   // of each entry
    double* losses = nullptr;  // of each row
};

// Functions that take `begin` and `end` work on those rows (samples, features) only.
template <class T> struct Kernels {
    int lanes;  // numbers in a vector
    // Copies topics to the padded buffer and sets their sums to zero.
    void (*pad)(const TopicBuffers<T>&, int64_t begin, int64_t end);
    // One range of features, from range_begin on. The ranges of a sample must come in order.
    void (*rows)(const Block<T>&, int64_t begin, int64_t end, int64_t range_begin);
    void (*columns)(const Block<T>&, int64_t begin, int64_t end);
    // counts = topics * topic_sums
    void (*finish)(const TopicBuffers<T>&, int64_t begin, int64_t end);
    // Dense data: product becomes x / product. Returns sum x log(product).
    double (*divide)(const T* x, T* product, int64_t n);
    void (*posterior)(const Posterior<T>&, int64_t begin, int64_t end);
    void (*mean_posterior)(const MeanPosterior<T>&, int64_t begin, int64_t end);
    void (*slopes)(const Slopes<T>&, int64_t begin, int64_t end);
    // Returns the sum of absolute differences.
    double (*distance)(const Difference<T>&, int64_t begin, int64_t end);
    // The sum of each row; the sums of the columns, added to `sums`.
    void (*row_sums)(const T* a, int64_t columns, int64_t begin, int64_t end, double* sums);
    void (*column_sums)(const T* a, int64_t columns, int64_t begin, int64_t end, double* sums);
    void (*scale)(const Scaling<T>&, int64_t begin, int64_t end);
    // to = latest * (latest / previous)^momentum, at least floor * total where latest is positive;
    // then each row is scaled to its total.
    void (*extrapolate)(const Extrapolation<T>&, int64_t begin, int64_t end);
    // `memory`: (padded components + 3) times the entries of the longest row, in whole vectors, and
    // three numbers for each padded component.
    void (*descend)(const Descent<T>&, int64_t begin, int64_t end, T* memory);
    void (*squared_shares)(const SquaredShares<T>&, int64_t begin, int64_t end);
    // `memory`: seven rows of doubles, of components rounded up to a multiple of eight; a vector
    // for each padded component; then as for `descend`.
    void (*infer)(const Inference<T>&, int64_t begin, int64_t end, void* memory);
};

struct Level {
    const char* name;
    Kernels<float> float_kernels;
    Kernels<double> double_kernels;
    void (*gamma_functions)(const double* x, double* digamma, double* log_gamma, int64_t n);
    // `memory`: see `select_topics` in pass.cpp.
    void (*select_topics)(const Selection&, int64_t begin, int64_t end, double* memory);
    // `memory`: see `fit_rates` in pass.cpp.
    void (*fit_rates)(const RateFit&, int64_t begin, int64_t end, double* memory);
    double (*rises)(const Bins&, double concentration, Occurs occurs);
    void (*stacked_pass)(const Stack&);
    void (*extrapolate_stack)(const StackExtrapolation&);
    void (*walk_samples)(const SampleWalks&);
    void (*walk_features)(const FeatureWalks&);
    void (*draw_topics)(const TopicDraws&, float* memory, int64_t begin, int64_t end);
};

template <class T> const Kernels<T>& kernels_of(const Level& level);
template <> inline const Kernels<float>& kernels_of<float>(const Level& level) {
    return level.float_kernels;
}
template <> inline const Kernels<double>& kernels_of<double>(const Level& level) {
    return level.double_kernels;
}

}  // namespace isotopic
