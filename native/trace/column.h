// One column of a trace: a flat array that grows in place, in memory or in an unlinked file.
//
// A column in a file is for traces larger than the memory ceiling: its pages belong to the page cache, and
// `drop_pages` takes what was written out of this process without losing it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace kinetograph::trace {

// Where the columns of one trace live. `directory` empty: anonymous memory.
struct Storage {
    std::string directory;
};

// Untyped growing area, shared by all Column<T>. Throws std::bad_alloc when neither memory nor disk is left.
//
// Small areas come from the heap, whatever the storage: a trace has twenty columns and most are short.
class Area {
public:
    Area() = default;
    explicit Area(const Storage& storage) : directory_(storage.directory) {}
    Area(Area&& other) noexcept { swap(other); }
    Area& operator=(Area&& other) noexcept {
        swap(other);
        return *this;
    }
    ~Area();

    std::byte* data() const { return data_; }
    size_t capacity() const { return capacity_; }
    // At least `bytes`; what is new is zero.
    void grow(size_t bytes);
    // Lets go of the pages of this range if they live in a file. They can still be read.
    void drop_pages(size_t begin, size_t end) const;
    bool in_file() const { return descriptor_ >= 0; }
    Storage storage() const { return {directory_}; }

private:
    void grow_on_heap(size_t bytes);
    void grow_mapping(size_t bytes);
    bool reserve_in_file(size_t bytes);
    void leave_file();
    std::byte* map(size_t bytes);
    void swap(Area& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(capacity_, other.capacity_);
        std::swap(descriptor_, other.descriptor_);
        std::swap(mapped_, other.mapped_);
        directory_.swap(other.directory_);
    }

    std::byte* data_ = nullptr;
    size_t capacity_ = 0;
    int descriptor_ = -1;
    bool mapped_ = false;
    std::string directory_;
};

// How often those who fill or read columns let go of the pages behind them.
inline constexpr size_t rows_between_drops = size_t(1) << 18;

template <class T>
class Column {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    Column() = default;
    explicit Column(const Storage& storage) : area_(storage) {}
    Column(Column&& other) noexcept : area_(std::move(other.area_)), size_(std::exchange(other.size_, 0)) {}
    Column& operator=(Column&& other) noexcept {
        area_ = std::move(other.area_);
        std::swap(size_, other.size_);
        return *this;
    }

    T* data() const { return reinterpret_cast<T*>(area_.data()); }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    T& operator[](size_t i) const { return data()[i]; }
    T& back() const { return data()[size_ - 1]; }
    T* begin() const { return data(); }
    T* end() const { return data() + size_; }
    Storage storage() const { return area_.storage(); }

    void reserve(size_t n) {
        if (n * sizeof(T) > area_.capacity()) area_.grow(n * sizeof(T));
    }
    // Only upwards; new elements are zero.
    void resize(size_t n) {
        reserve(n);
        size_ = n;
    }
    // As resize, for many small steps.
    void extend(size_t n) {
        make_room(n);
        size_ += n;
    }
    void push_back(T value) {
        make_room(1);
        data()[size_++] = value;
    }
    void append(const T* values, size_t n) {
        if (n == 0) return;
        make_room(n);
        std::memcpy(data() + size_, values, n * sizeof(T));
        size_ += n;
    }
    Column clone() const {
        Column copy(storage());
        copy.reserve(size_);
        copy.append(data(), size_);
        return copy;
    }
    bool in_file() const { return area_.in_file(); }
    void drop_pages(size_t begin, size_t end) const { area_.drop_pages(begin * sizeof(T), end * sizeof(T)); }

private:
    void make_room(size_t n) {
        if ((size_ + n) * sizeof(T) > area_.capacity()) area_.grow((size_ + n) * sizeof(T) * 2);
    }
    Area area_;
    size_t size_ = 0;
};

}  // namespace kinetograph::trace
