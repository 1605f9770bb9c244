// Whole-matrix operations: the loops of a level, cut into chunks for the threads.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>
#include "index.hpp"
#include "levels.hpp"

namespace isotopic {

using Interrupted = std::function<bool()>;

// Memory that is kept from one pass to the next, so that its pages are not faulted in each time.
class Workspace {
  public:
    Workspace() = default;
    Workspace(const Workspace&) = delete;
    ~Workspace();

    // Aligned memory for n elements; what it held before is lost.
    template <class T> T* get(int slot, int64_t n) {
        return static_cast<T*>(get_bytes(slot, size_t(n > 0 ? n : 1) * sizeof(T)));
    }

    std::mutex busy;  // one pass at a time

  private:
    struct Slot {
        void* memory = nullptr;
        size_t bytes = 0;
    };
    void* get_bytes(int slot, size_t bytes);
    Slot slots[8];
};

// One pass of expected counts. `topic_counts` may be null. False if it was interrupted.
template <class T>
bool expected_counts(const Matrix<T>& x, int64_t components, const T* weights, const T* topics, T* weight_counts,
                     T* topic_counts, double* log_likelihoods, Workspace& workspace, int threads, const Interrupted& interrupted);

// Some rows of a sparse matrix, wherever in it their entries stand.
template <class T> struct Rows {
    int64_t n_rows, n_features, n_entries;
    const int64_t *starts, *ends;
    const int32_t* features;
    const T* values;
};

// Components rounded up to whole vectors.
template <class T> int64_t padded_components(int64_t components);

template <class T> using Padded = std::unique_ptr<T, void (*)(void*)>;

// Topics (features x components) made ready for any number of row passes: padded, and aligned.
template <class T> Padded<T> padded_topics(int64_t n_features, int64_t components, const T* topics, int threads);

// The weights' expected counts only, with padded topics. False if it was interrupted.
template <class T>
bool row_pass(const Rows<T>& x, int64_t components, const T* weights, const T* topics, T* weight_counts,
              double* log_likelihoods, int threads, const Interrupted& interrupted);

template <class T>
bool divide(int64_t rows, int64_t columns, const T* x, T* product, double* log_likelihoods, int threads,
            const Interrupted& interrupted);

template <class T>
bool effective_factor(const Posterior<T>& posterior, int64_t rows, int threads, const Interrupted& interrupted);

template <class T>
double distance(const T* a, const T* b, const double* row_scale, const double* column_scale, int64_t rows, int64_t columns,
                int threads);

// The same of each row on its own, without scales.
template <class T> void row_distances(const T* a, const T* b, int64_t rows, int64_t columns, double* to, int threads);

// Sums of a table along its rows, or along its columns (`by_column`).
template <class T>
void sums(const T* a, int64_t rows, int64_t columns, bool by_column, double* to, int threads);

// Rows, or columns, divided by their sums; uniform where the sum is zero.
template <class T>
void normalize(const T* a, int64_t rows, int64_t columns, bool by_column, const double* sums, T* to, int threads);

template <class T> void extrapolate(const Extrapolation<T>& extrapolation, int64_t rows, int threads);

template <class T>
bool squared_shares(const Shared<T>& shared, int64_t rows, int threads, const Interrupted& interrupted);

// The descent's `others` are those of so many features, without padding.
template <class T>
bool descend(Descent<T> descent, int64_t rows, int64_t n_features, int threads, const Interrupted& interrupted);

}  // namespace isotopic
