#include <cstdio>

#include <penstock/message.hpp>

#include "base/entry_id.hpp"
#include "runtime/message_data.hpp"

namespace penstock {

namespace {

const store::Taken& taken(const detail::MessageData& data, std::uint32_t index) {
  return data.batch->entries[index];
}

const store::Note* note(const detail::MessageData& data, std::uint32_t index) {
  const std::int32_t at = taken(data, index).note;
  return at < 0 ? nullptr : &data.batch->notes[static_cast<std::size_t>(at)];
}

}  // namespace

std::string to_string(const Token& token) {
  char text[96];
  std::snprintf(text, sizeof text, "%015lld-%015llu-%020llu-%019lld",
                static_cast<long long>(token.epoch), static_cast<unsigned long long>(token.id_ms),
                static_cast<unsigned long long>(token.id_seq),
                static_cast<long long>(token.delivery));
  return text;
}

std::string_view Message::body() const {
  const store::Taken& entry = taken(*data_, index_);
  for (std::uint32_t i = 0; i < entry.field_count; ++i) {
    if (data_->batch->name(entry, i) == "body") return data_->batch->value(entry, i);
  }
  return entry.field_count == 1 ? data_->batch->value(entry, 0) : std::string_view{};
}

std::string_view Message::stream() const { return data_->lane->stream; }
std::string_view Message::group() const { return data_->lane->group; }
std::string Message::id() const { return base::to_string(taken(*data_, index_).id); }

std::int64_t Message::attempt() const {
  const store::Note* n = note(*data_, index_);
  return n == nullptr ? 1 : n->attempts + 1;
}

std::int64_t Message::delivery() const { return taken(*data_, index_).delivery; }

Token Message::token() const {
  const store::Taken& entry = taken(*data_, index_);
  return {data_->group_epoch, entry.id.ms, entry.id.seq, entry.delivery};
}

std::string_view Message::last_error() const {
  const store::Note* n = note(*data_, index_);
  return n == nullptr ? std::string_view{} : std::string_view(n->error);
}

std::int64_t Message::first_failed_ms() const {
  const store::Note* n = note(*data_, index_);
  return n == nullptr ? 0 : n->first_failed;
}

std::optional<std::string_view> Message::header(std::string_view name) const {
  const store::Taken& entry = taken(*data_, index_);
  for (std::uint32_t i = 0; i < entry.field_count; ++i) {
    if (data_->batch->name(entry, i) == name) return data_->batch->value(entry, i);
  }
  return std::nullopt;
}

std::size_t Message::field_count() const { return taken(*data_, index_).field_count; }

std::pair<std::string_view, std::string_view> Message::field(std::size_t index) const {
  const store::Taken& entry = taken(*data_, index_);
  if (index >= entry.field_count) return {};
  const auto i = static_cast<std::uint32_t>(index);
  return {data_->batch->name(entry, i), data_->batch->value(entry, i)};
}

}  // namespace penstock
