// Checks of padded topics, which loops over single samples read.
#pragma once
#include "arrays.hpp"

namespace isotopic {

template <class T> void require_padded(const In2<T>& topics, size_t components) {
    require(components > 0 &&
                int64_t(topics.shape(1)) == padded_components<T>(int64_t(components)) &&
                reinterpret_cast<uintptr_t>(topics.data()) % 64 == 0,
            "topics are not padded for this number of components: see pad_topics");
}

// Returns whether all rows lie within the entries.
inline bool lie_within(const In<int64_t>& starts, const In<int64_t>& ends, size_t n_entries) {
    for (size_t d = 0; d < starts.size(); ++d)
        if (starts.data()[d] < 0 || starts.data()[d] > ends.data()[d] ||
            size_t(ends.data()[d]) > n_entries)
            return false;
    return true;
}

}  // namespace isotopic
