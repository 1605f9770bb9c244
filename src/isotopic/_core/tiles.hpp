// The sweeps of a pass over the components of some entries; see kernels.hpp for the pass.
#pragma once
#include "kernels.hpp"
#include "simd.hpp"

namespace isotopic {
namespace ISOTOPIC_LEVEL {

// These sweeps work on a tile of the components: up to `most_registers` whole vectors.
// Their number is a template argument so that they stay in registers. If there is only one tile
// (Whole), the compiler knows the distance between rows as well.
template <class T, int Registers, bool Whole> inline int64_t stride_of(int64_t padded) {
    return Whole ? int64_t(Registers) * simd<T>::lanes : padded;
}

// Some entries of one sample, and the tile of the topics that is used.
template <class T> struct Batch {
    const T* topics;  // of the tile's first component
    int64_t padded;
    const int32_t* features;
    int n;             // entries of the batch
    int64_t readable;  // entries from here to the end of the matrix
};

// to[j] = weights . topics of feature j over the tile, added to to[j] unless `first`.
//
// With few registers, the last vector also computes entries of the next sample, which nobody reads,
// because that is cheaper than a branch; it stops at the end of the matrix (`readable`). With many
// registers it would cost more, because the topics of those entries are not in the cache.
template <class T, int Registers, bool Whole>
void products(const Batch<T>& batch, const T* weights, T* to, bool first) {
    constexpr int L = simd<T>::lanes;
    const int64_t stride = stride_of<T, Registers, Whole>(batch.padded), readable = batch.readable;
    const T* topics = batch.topics;
    const int32_t* features = batch.features;
    const int n = batch.n;
    vec<T> w[Registers];
    for (int r = 0; r < Registers; ++r) w[r] = load<T>(weights + r * L);
    const auto product = [&](int32_t feature) {
        const T* t = topics + feature * stride;
        vec<T> even = w[0] * load<T>(t),
               odd = vec<T>{};  // two chains hide the latency of long sums
        for (int r = 1; r < Registers; ++r)
            (Registers > 4 && r % 2 ? odd : even) += w[r] * load<T>(t + r * L);
        return Registers > 4 ? even + odd : even;
    };
    for (int j = 0; j < n; j += L) {
        vec<T> some[L];
        if ((Registers <= 3 ? readable : n) - j >= L)
            for (int i = 0; i < L; ++i) some[i] = product(features[j + i]);
        else
            for (int i = 0; i < L; ++i) some[i] = j + i < n ? product(features[j + i]) : vec<T>{};
        store<T>(to + j, first ? sums_of<T>(some) : load<T>(to + j) + sums_of<T>(some));
    }
}

// sums += ratio(j) * row(j) for j < n. With few registers a long sum is split into several chains,
// because each multiply-add waits for the previous one in its chain.
template <class T, int Registers, int chains, class Ratio, class Row>
inline void add_rows(int64_t n, T* sums, const Ratio& ratio, const Row& row) {
    constexpr int L = simd<T>::lanes;
    vec<T> s[chains][Registers];
    for (int c = 0; c < chains; ++c)
        for (int r = 0; r < Registers; ++r) s[c][r] = c ? vec<T>{} : load<T>(sums + r * L);
    const auto add = [&](int c, int64_t j) {
        const T* from = row(j);
        const T by = ratio(j);
        for (int r = 0; r < Registers; ++r) s[c][r] += by * load<T>(from + r * L);
    };
    int64_t j = 0;
    for (; j + chains <= n; j += chains)
        for (int c = 0; c < chains; ++c) add(c, j + c);
    for (; j < n; ++j) add(0, j);
    for (int r = 0; r < Registers; ++r) {
        for (int c = 1; c < chains; ++c) s[0][r] += s[c][r];
        store<T>(sums + r * L, s[0][r]);
    }
}

// sums += ratio[j] * topics of feature j, over the tile
template <class T, int Registers, bool Whole>
void add_topics(const Batch<T>& batch, const T* ratios, T* sums) {
    constexpr int chains = Registers <= 2 ? 4 : Registers <= 6 ? 2 : 1;
    const int64_t stride = stride_of<T, Registers, Whole>(batch.padded);
    const T* topics = batch.topics;
    const int32_t* features = batch.features;
    add_rows<T, Registers, chains>(
        batch.n, sums, [&](int64_t j) { return ratios[j]; },
        [&](int64_t j) { return topics + features[j] * stride; });
}

// The ratios of a feature's entries are all over the block: they are fetched so many entries ahead.
constexpr int64_t entries_ahead = 16;

// topic_sums += ratio * weights over the entries of each feature, over the tile
template <class T, int Registers, bool Whole>
void add_weights(const Block<T>& b, int64_t begin, int64_t end, int64_t first) {
    constexpr int L = simd<T>::lanes;
    const int64_t stride = stride_of<T, Registers, Whole>(b.registers * L);
    const T* weights = b.block_weights + first;
    const int64_t last = int64_t(b.column_starts[end]) - 1;
    for (int64_t c = begin; c < end; ++c) {
        T* sums = b.topic_sums + b.column_features[c] * stride + first;
        const uint32_t start = b.column_starts[c];
        const uint32_t* order = b.entry_order + start;
        const uint16_t* rows = b.entry_rows + start;
        add_rows<T, Registers, 1>(
            b.column_starts[c + 1] - start, sums,
            [&](int64_t e) {
                const int64_t later = int64_t(start) + e + entries_ahead;
                __builtin_prefetch(b.ratios + b.entry_order[later < last ? later : last]);
                return b.ratios[order[e]];
            },
            [&](int64_t e) { return weights + rows[e] * stride; });
    }
}

// A tile, two sums and a factor must fit into the registers; x86 has 16 of them before AVX-512.
#if defined(__x86_64__) && !defined(__AVX512F__)
constexpr int most_registers = 13;
#else
constexpr int most_registers = 16;
#endif

template <class T> struct Tiles {
    void (*products)(const Batch<T>&, const T* weights, T* to, bool first);
    void (*add_topics)(const Batch<T>&, const T* ratios, T* sums);
    void (*add_weights)(const Block<T>&, int64_t begin, int64_t end, int64_t first);
};

template <class T, bool Whole, int... R>
inline const Tiles<T>& tile_of(int64_t registers, std::integer_sequence<int, R...>) {
    static constexpr Tiles<T> tiles[] = {{.products = products<T, R + 1, Whole>,
                                          .add_topics = add_topics<T, R + 1, Whole>,
                                          .add_weights = add_weights<T, R + 1, Whole>}...};
    return tiles[registers - 1];
}

// run(tile, first component of the tile) over all tiles of the components
template <class T, class Run> inline void for_tiles(int64_t registers, const Run& run) {
    const std::make_integer_sequence<int, most_registers> each;
    if (registers <= most_registers) return run(tile_of<T, true>(registers, each), 0);
    // As few tiles as possible, of about the same size.
    for (int64_t done = 0, left = (registers + most_registers - 1) / most_registers; left; --left) {
        const int64_t tile = (registers - done + left - 1) / left;
        run(tile_of<T, false>(tile, each), done * simd<T>::lanes);
        done += tile;
    }
}

}  // namespace ISOTOPIC_LEVEL
}  // namespace isotopic
