// The index of a matrix by feature, and its transpose.
#include "arrays.hpp"

namespace isotopic {
namespace {

template <class V> nb::object array_of(V&& values) {
    using T = typename std::decay_t<V>::value_type;
    auto* kept = new std::decay_t<V>(std::move(values));
    nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::decay_t<V>*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

ColumnIndex column_index_of(int64_t n_features, In<int64_t> block_rows, In<int64_t> row_starts,
                            In<int32_t> features, int threads) {
    require(n_features >= 0 && n_features <= std::numeric_limits<int32_t>::max(),
            "n_features is not a number of features");
    require(ascends(row_starts, features.size()),
            "row_starts do not ascend from 0 to the number of entries");
    require(ascends(block_rows, row_starts.size() - 1),
            "block_rows do not ascend from 0 to the number of samples");
    for (size_t b = 0; b + 1 < block_rows.size(); ++b) {
        const int64_t first = block_rows.data()[b], last = block_rows.data()[b + 1];
        require(last - first <= int64_t(1) << 16, "a block has more than 2^16 samples");
        require(row_starts.data()[last] - row_starts.data()[first] < int64_t(1) << 32,
                "a block has 2^32 entries or more");
    }
    require(are_features(features, n_features), "a feature is not between 0 and n_features");
    nb::gil_scoped_release nogil;
    return column_index({.n_features = n_features,
                         .n_blocks = int64_t(block_rows.size()) - 1,
                         .block_rows = block_rows.data(),
                         .row_starts = row_starts.data(),
                         .features = features.data()},
                        threads);
}

// Returns the arrays of an index, read-only.
nb::tuple arrays_of(nb::handle_t<ColumnIndex> self) {
    const ColumnIndex& index = nb::cast<const ColumnIndex&>(self);
    const auto view = [&](const auto& values) {
        using T = const std::remove_pointer_t<decltype(values.data())>;
        return nb::cast(
            nb::ndarray<nb::numpy, T, nb::ndim<1>>(values.data(), {values.size()}, self));
    };
    return nb::make_tuple(view(index.block_columns), view(index.column_features),
                          view(index.column_starts), view(index.entry_rows),
                          view(index.entry_order));
}

template <class T> void bind_transpose(nb::module_& m) {
    m.def(
        "transpose",
        [](int64_t n_features, In<int64_t> block_rows, In<int64_t> row_starts, In<int32_t> features,
           In<T> values, const ColumnIndex& by_feature) {
            require(n_features >= 0, "n_features is not a number of features");
            const Matrix<T> x = matrix_of<T>(size_t(n_features), row_starts, features, values,
                                             block_rows, &by_feature);
            Transposed<T> result;
            {
                nb::gil_scoped_release nogil;
                result = transpose<T>(x);
            }
            return nb::make_tuple(array_of(std::move(result.row_starts)),
                                  array_of(std::move(result.samples)),
                                  array_of(std::move(result.values)));
        },
        "n_features"_a, "block_rows"_a.noconvert(), "row_starts"_a.noconvert(),
        "features"_a.noconvert(), "values"_a.noconvert(), "by_feature"_a);
}

}  // namespace

void bind_data(nb::module_& m) {
    nb::class_<ColumnIndex>(m, "ColumnIndex").def("arrays", &arrays_of);
    bind_transpose<float>(m);
    bind_transpose<double>(m);
    m.def("release_memory", &release_memory);
    m.def("column_index", &column_index_of, "n_features"_a, "block_rows"_a.noconvert(),
          "row_starts"_a.noconvert(), "features"_a.noconvert(), "threads"_a);
}

}  // namespace isotopic
