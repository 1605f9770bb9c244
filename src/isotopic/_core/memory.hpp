// Memory for large arrays.
#pragma once
#include <cstddef>
#include <cstdlib>
#include <memory>

namespace isotopic {

// Aligned for the widest vectors; large ones in huge pages, because rows are visited in any order.
// To be freed with std::free.
void* allocate(std::size_t bytes);

// Lets the system have what the allocator holds and nobody uses, where that can be asked for.
void give_back_memory();

// An array that nobody has written to yet: filling it with zeros first would take as long again.
template <class T> struct Uninitialized {
    using value_type = T;
    std::unique_ptr<T[], void (*)(void*)> memory{nullptr, std::free};
    std::size_t n = 0;

    Uninitialized() = default;
    explicit Uninitialized(std::size_t size) : memory(static_cast<T*>(allocate(size * sizeof(T))), std::free), n(size) {}
    T* data() const { return memory.get(); }
    std::size_t size() const { return n; }
};

}  // namespace isotopic
