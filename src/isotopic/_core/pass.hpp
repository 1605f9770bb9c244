// Operations on whole matrices: the loops of a level, cut into chunks for the threads.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>
#include "index.hpp"
#include "levels.hpp"

namespace isotopic {

inline bool never() { return false; }

// How an operation is run. Those that can be interrupted return false if they were.
struct Execution {
    int threads = 1;
    std::function<bool()> interrupted = never;  // asked now and then, in the calling thread
};

// Memory that is kept from one pass to the next, so that its pages are not faulted in each time.
class Workspace {
  public:
    Workspace() = default;
    Workspace(const Workspace&) = delete;
    ~Workspace();

    // Returns aligned memory for n elements. Its previous contents are lost.
    template <class T> T* get(int slot, int64_t n) {
        return static_cast<T*>(get_bytes(slot, size_t(n > 0 ? n : 1) * sizeof(T)));
    }

    std::mutex busy;  // held during a pass

  private:
    struct Slot {
        void* memory = nullptr;
        size_t bytes = 0;
    };
    void* get_bytes(int slot, size_t bytes);
    Slot slots[8];
};

// The factors that a pass reads.
template <class T> struct Factors {
    int64_t components = 0;
    const T* weights = nullptr;  // samples x components
    const T* topics = nullptr;   // features x components
};

// The arrays that a pass fills.
template <class T> struct ExpectedCounts {
    T* weights = nullptr;               // samples x components
    T* topics = nullptr;                // features x components; null if not needed
    double* log_likelihoods = nullptr;  // by sample
};

// One pass of expected counts over all samples.
template <class T>
bool expected_counts(const Matrix<T>& x, const Factors<T>& factors,
                     const ExpectedCounts<T>& results, Workspace& workspace,
                     const Execution& execution);

// Some rows of a sparse matrix, which need not be neighbours.
template <class T> struct Rows {
    int64_t n_rows = 0;
    int64_t n_features = 0;
    int64_t n_entries = 0;  // of the whole matrix
    const int64_t* starts = nullptr;
    const int64_t* ends = nullptr;
    const int32_t* features = nullptr;
    const T* values = nullptr;
};

// Returns the number of components rounded up to whole vectors.
template <class T> int64_t padded_components(int64_t components);

template <class T> using Padded = std::unique_ptr<T, void (*)(void*)>;

// Returns topics (features x components) padded and aligned, for any number of row passes.
template <class T>
Padded<T> pad_topics(int64_t n_features, int64_t components, const T* topics, int threads);

// The expected counts of the weights only. The topics of the factors must be padded.
template <class T>
bool row_pass(const Rows<T>& x, const Factors<T>& factors, const ExpectedCounts<T>& results,
              const Execution& execution);

// A dense table, row by row.
template <class T> struct Table {
    int64_t rows = 0;
    int64_t columns = 0;
    T* data = nullptr;
};

// Replaces the product by x / product and computes each row's sum of x log(product).
template <class T>
bool divide(const Table<const T>& x, T* product, double* log_likelihoods,
            const Execution& execution);

template <class T>
bool effective_factor(const Posterior<T>& posterior, int64_t rows, const Execution& execution);

template <class T>
bool mean_posterior(const MeanPosterior<T>& posterior, int64_t rows, const Execution& execution);

template <class T>
bool concentration_slopes(const Slopes<T>& slopes, int64_t rows, const Execution& execution);

// Returns the sum of absolute differences.
template <class T> double distance(const Difference<T>& difference, int64_t rows, int threads);

// Computes the sum of absolute differences of each row.
template <class T>
void row_distances(const Difference<T>& difference, int64_t rows, double* to, int threads);

// Computes the sum of each row, or of each column (`by_column`).
template <class T> void sums(const Table<const T>& a, bool by_column, double* to, int threads);

// Divides rows, or columns, by their sums. Where the sum is zero, the result is uniform.
template <class T>
void normalize(const Table<const T>& a, bool by_column, const double* sums, T* to, int threads);

template <class T>
void extrapolate(const Extrapolation<T>& extrapolation, int64_t rows, int threads);

template <class T>
bool squared_shares(const SquaredShares<T>& shares, int64_t rows, const Execution& execution);

template <class T>
bool descend(const Descent<T>& descent, int64_t rows, const Execution& execution);

// The same on the topics of each feature: `descent` needs no counts, and its "features" are
// samples.
template <class T>
bool descend_features(const Matrix<T>& x, const OrderedValues<T>& ordered,
                      const Descent<T>& descent, const Execution& execution);

template <class T>
bool infer(const Inference<T>& inference, int64_t rows, const Execution& execution);

bool select_topics(const Selection& selection, int64_t rows, const Execution& execution);
bool fit_rates(const RateFit& fit, int64_t features, const Execution& execution);

// Work on all runs of a stack, in one thread; see kernels.hpp.
void stacked_pass(const Stack& stack);
void extrapolate_stack(const StackExtrapolation& extrapolation);

}  // namespace isotopic
