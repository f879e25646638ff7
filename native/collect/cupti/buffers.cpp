#include "collect/cupti/buffers.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace kinetograph::collect::cupti {

Buffers::Node* Buffers::node_of(const uint8_t* data) {
    Node* end = nodes_ + most_buffers;
    Node* node = std::find_if(nodes_, end, [&](const Node& node) { return node.data == data; });
    return node == end ? nullptr : node;
}

Buffers::Node* Buffers::make_node() noexcept {
    Node* node = made_ < allowed_ ? node_of(nullptr) : nullptr;
    if (!node) return nullptr;
    node->data = static_cast<uint8_t*>(std::aligned_alloc(alignment, buffer_bytes));
    if (!node->data) return nullptr;
    std::memset(node->data, 0, buffer_bytes);
    ++made_;
    return node;
}

void Buffers::limit_to(size_t bytes) {
    std::lock_guard lock(mutex_);
    allowed_ = std::clamp(bytes / buffer_bytes, fewest_buffers, most_buffers);
    free_down_to(allowed_);
}

void Buffers::shrink() {
    std::lock_guard lock(mutex_);
    free_down_to(kept_buffers);
}

// As far as nobody has them. Under the lock.
void Buffers::free_down_to(size_t count) {
    while (free_ && made_ > count) {
        Node* node = std::exchange(free_, free_->next);
        std::free(node->data);
        *node = {};
        --made_;
    }
}

uint8_t* Buffers::request() noexcept {
    std::lock_guard lock(mutex_);
    Node* node = free_;
    if (node)
        free_ = node->next;
    else
        node = make_node();
    if (!node) return nullptr;
    node->next = nullptr;
    node->is_outstanding = true;
    ++outstanding_;
    return node->data;
}

void Buffers::complete(uint8_t* data, size_t bytes, size_t valid_bytes) noexcept {
    {
        std::lock_guard lock(mutex_);
        Node* node = data ? node_of(data) : nullptr;
        if (!node || !node->is_outstanding || bytes != buffer_bytes) {
            saw_foreign_ = true;
            return;
        }
        node->is_outstanding = false;
        node->valid_bytes = std::min(valid_bytes, buffer_bytes);
        node->next = nullptr;
        (last_filled_ ? last_filled_->next : first_filled_) = node;
        last_filled_ = node;
        --outstanding_;
        ++completed_;
    }
    changed_.notify_one();
}

Buffers::Filled Buffers::take(int wait_ms) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::milliseconds(wait_ms),
                      [this] { return first_filled_ != nullptr || is_woken_; });
    Node* node = first_filled_;
    if (!node) {
        is_woken_ = false;
        return {};
    }
    first_filled_ = node->next;
    if (!first_filled_) last_filled_ = nullptr;
    return {node->data, node->valid_bytes};
}

void Buffers::give_back(const Filled& filled) {
    std::memset(filled.data, 0, buffer_bytes);
    {
        std::lock_guard lock(mutex_);
        Node* node = node_of(filled.data);
        node->next = free_;
        free_ = node;
        ++given_back_;
    }
    decoded_.notify_all();
}

void Buffers::wake() {
    {
        std::lock_guard lock(mutex_);
        is_woken_ = true;
    }
    changed_.notify_one();
}

void Buffers::wait_until_decoded() {
    std::unique_lock lock(mutex_);
    decoded_.wait(lock, [this, wanted = completed_] { return given_back_ >= wanted; });
}

size_t Buffers::outstanding() const {
    std::lock_guard lock(mutex_);
    return outstanding_;
}

bool Buffers::take_foreign() {
    std::lock_guard lock(mutex_);
    return std::exchange(saw_foreign_, false);
}

void Buffers::abandon_outstanding() {
    std::lock_guard lock(mutex_);
    for (Node& node : nodes_)
        if (node.is_outstanding) node = {};
    made_ -= outstanding_;
    outstanding_ = 0;
}

}  // namespace kinetograph::collect::cupti
