// SPDX-License-Identifier: Apache-2.0
#include "app/exitcode.h"

#include <array>
#include <utility>

using namespace Qt::StringLiterals;

namespace tidekeeper::app {

ExitCode exitCodeFor(const QString &errorCode)
{
    // The beginning of a code names its subject.
    static constexpr std::array<std::pair<QLatin1StringView, ExitCode>, 11> subjects{{
        {"config_"_L1, ExitCode::Configuration},
        {"invalid_"_L1, ExitCode::Configuration},
        {"redis_password_file"_L1, ExitCode::Configuration},
        {"state_dir_"_L1, ExitCode::StateFolder},
        {"admin_token"_L1, ExitCode::StateFolder},
        {"port_in_use"_L1, ExitCode::Address},
        {"address_refused"_L1, ExitCode::Address},
        {"tls_"_L1, ExitCode::Address},
        {"redis_"_L1, ExitCode::Redis},
        {"database_"_L1, ExitCode::Database},
        {"sealing_"_L1, ExitCode::SealingKey},
    }};
    for (const auto &[beginning, code] : subjects) {
        if (errorCode.startsWith(beginning))
            return code;
    }
    return ExitCode::Failure;
}

} // namespace tidekeeper::app
