// Memory for large arrays.
#pragma once
#include <cstddef>
#include <memory>

namespace isotopic {

// Returns memory that is aligned for the widest vectors. Large pieces use huge pages, because rows
// are visited in any order.
void* allocate(std::size_t bytes);

// Frees what allocate returned.
void deallocate(void* memory) noexcept;

// Returns unused memory of the allocator to the system, where the allocator supports that.
void release_memory();

// An array whose elements are not initialised: filling it with zeros would take as long as the
// work.
template <class T> struct Uninitialized {
    using value_type = T;
    std::unique_ptr<T[], void (*)(void*)> memory{nullptr, deallocate};
    std::size_t n = 0;

    Uninitialized() = default;
    explicit Uninitialized(std::size_t size)
        : memory(static_cast<T*>(allocate(size * sizeof(T))), deallocate), n(size) {}
    T* data() const { return memory.get(); }
    std::size_t size() const { return n; }
};

}  // namespace isotopic
