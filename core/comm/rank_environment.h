/// Environment variables by which launch_ranks() tells a rank of the others.
#pragma once

namespace rodeo::comm {

inline constexpr const char* kRankVariable = "RODEO_RANK";
inline constexpr const char* kRanksVariable = "RODEO_RANKS";
inline constexpr const char* kAddressVariable = "RODEO_ADDRESS";     // "127.0.0.1:4711": rank 0 listens there
inline constexpr const char* kKeyVariable = "RODEO_KEY";             // a secret of this run
inline constexpr const char* kListenVariable = "RODEO_LISTEN_FILE";  // rank 0: descriptor of that socket
inline constexpr const char* kReportVariable = "RODEO_REPORT_FILE";  // descriptor of a pipe with one byte

/// Exit code of a rank that was ended because another one failed.
inline constexpr int kEndedByOther = 86;

}  // namespace rodeo::comm
