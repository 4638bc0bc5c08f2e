#pragma once

#include <optional>

#include "base/result.hpp"
#include "resp/reply.hpp"
#include "store/types.hpp"

namespace penstock::store {

/// XREADGROUP's reply for one stream: nil, empty lists and entries without a body are no entries.
base::Result<BatchPtr> decode_taken(const resp::Reply& reply);
/// claim.lua's reply; origin by who owned the item.
base::Result<ClaimReply> decode_claimed(const resp::Reply& reply,
                                        const std::vector<ClaimItem>& items);
base::Result<TickReply> decode_tick(const resp::Reply& reply);
base::Result<PeekReply> decode_peek(const resp::Reply& reply);
base::Result<Opened> decode_opened(const resp::Reply& reply);
base::Result<std::vector<PendingRow>> decode_pending(const resp::Reply& reply);

}  // namespace penstock::store
