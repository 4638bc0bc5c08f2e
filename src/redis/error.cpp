#include "redis/error.hpp"

#include <array>

namespace penstock::redis {

namespace {

struct Row {
  std::string_view word;
  errc code;
};

constexpr std::array rows{
    Row{"NOGROUP", errc::group_lost},      Row{"UNBLOCKED", errc::group_lost},
    Row{"WRONGTYPE", errc::wrong_type},    Row{"NOSCRIPT", errc::script_missing},
    Row{"NOAUTH", errc::auth_failed},      Row{"WRONGPASS", errc::auth_failed},
    Row{"NOPERM", errc::no_permission},    Row{"OOM", errc::storage_full},
    Row{"READONLY", errc::read_only},      Row{"MASTERDOWN", errc::read_only},
    Row{"LOADING", errc::server_busy},     Row{"BUSY", errc::server_busy},
    Row{"MISCONF", errc::server_busy},     Row{"NOREPLICAS", errc::server_busy},
    Row{"UNKILLABLE", errc::server_busy},  Row{"MOVED", errc::cluster_moved},
    Row{"ASK", errc::cluster_moved},       Row{"REDIRECT", errc::cluster_moved},
    Row{"TRYAGAIN", errc::cluster_moved},  Row{"CLUSTERDOWN", errc::cluster_moved},
    Row{"CROSSSLOT", errc::cluster_moved},
};

// Errors whose first word is only "ERR": told apart by their text.
constexpr std::array texts{
    Row{"ERR The user executing the script can't", errc::no_permission},
    Row{"ERR max number of clients", errc::server_busy},
    Row{"ERR Protocol error", errc::protocol_error},
    Row{"ERR operation not permitted", errc::auth_failed},
};

}  // namespace

errc classify(std::string_view error_text) {
  const std::string_view word = error_text.substr(0, error_text.find(' '));
  for (const Row& row : rows) {
    if (row.word == word) return row.code;
  }
  for (const Row& row : texts) {
    if (error_text.starts_with(row.word)) return row.code;
  }
  return errc::rejected;
}

}  // namespace penstock::redis
