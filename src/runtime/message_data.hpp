#pragma once

#include <memory>
#include <string>

#include <penstock/message.hpp>

#include "store/types.hpp"

namespace penstock::detail {

/// What the messages of one batch share.
struct MessageData {
  store::BatchPtr batch;
  std::shared_ptr<const store::Lane> lane;
  store::ServerMs group_epoch = 0;
};

struct MessageAccess {
  static Message make(std::shared_ptr<const MessageData> data, std::uint32_t index) {
    return Message(std::move(data), index);
  }
};

}  // namespace penstock::detail
