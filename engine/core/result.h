// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tidekeeper/status.h>

#include <tl/expected.hpp>

namespace tidekeeper {

/// A failure as a value: code, sentence, details. The same type that crosses the plugin boundary.
using Error = Status;

template<typename T = void>
using Result = tl::expected<T, Error>;

/// return fail(u"invalid_request"_s, u"…"_s, {{u"field"_s, u"cost"_s}});
inline tl::unexpected<Error> fail(QString code, QString text, QJsonObject details = {})
{
    return tl::unexpected<Error>(Error{std::move(code), std::move(text), std::move(details)});
}

inline tl::unexpected<Error> fail(Error error)
{
    return tl::unexpected<Error>(std::move(error));
}

} // namespace tidekeeper
