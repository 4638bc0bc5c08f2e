#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace penstock::redis {

/// A queue that keeps its memory: std::deque allocates and frees a block every few elements.
template <class T>
class Fifo {
 public:
  bool empty() const { return head_ == items_.size(); }
  std::size_t size() const { return items_.size() - head_; }
  T& front() { return items_[head_]; }
  auto begin() { return items_.begin() + static_cast<std::ptrdiff_t>(head_); }
  auto end() { return items_.end(); }
  void push(T item) { items_.push_back(std::move(item)); }
  T pop() {
    T item = std::move(items_[head_++]);
    if (head_ == items_.size()) {
      items_.clear();
      head_ = 0;
    } else if (head_ >= 1024 && head_ * 2 >= items_.size()) {
      items_.erase(items_.begin(), begin());
      head_ = 0;
    }
    return item;
  }

 private:
  std::vector<T> items_;
  std::size_t head_ = 0;
};

}  // namespace penstock::redis
