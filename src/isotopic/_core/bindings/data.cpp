// The index of a matrix by feature.
#include "arrays.hpp"

namespace isotopic {
namespace {

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

template <class V> void bind_order(nb::module_& m) {
    m.def(
        "order_values",
        [](const ColumnIndex& by_feature, In<V> values, Out<V> to) {
            require(values.size() == by_feature.entry_order.size() && to.size() == values.size(),
                    "the index by feature is of another matrix");
            nb::gil_scoped_release nogil;
            order_values<V>(by_feature, values.data(), to.data());
        },
        "by_feature"_a, "values"_a.noconvert(), "to"_a.noconvert());
}

}  // namespace

void bind_data(nb::module_& m) {
    nb::class_<ColumnIndex>(m, "ColumnIndex").def("arrays", &arrays_of);
    bind_order<uint16_t>(m);
    bind_order<float>(m);
    bind_order<double>(m);
    m.def("release_memory", &release_memory);
    m.def("column_index", &column_index_of, "n_features"_a, "block_rows"_a.noconvert(),
          "row_starts"_a.noconvert(), "features"_a.noconvert(), "threads"_a);
}

}  // namespace isotopic
