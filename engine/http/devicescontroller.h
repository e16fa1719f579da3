// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "http/router.h"
#include "oauth/sealing.h"
#include "protocol/deviceview.h"
#include "store/devicestore.h"

#include <tidekeeper/services.h>

namespace tidekeeper::http {

/// A stored device without its token.
protocol::DeviceView deviceView(const store::Device &device);

/// /api/v1/accounts/{id}/devices: list, register, remove. Takes push tokens, seals them and never shows one. Main
/// thread.
class DevicesController {
public:
    DevicesController(Router &router, store::DeviceStore &devices, const oauth::Sealing &sealing,
                      const Clock &clock);

private:
    QCoro::Task<Response> list(Request request);
    QCoro::Task<Response> add(Request request);
    QCoro::Task<Response> remove(Request request);

    /// All devices of the account.
    QCoro::Task<Response> shown(QString account, int status);

    store::DeviceStore &m_devices;
    const oauth::Sealing &m_sealing;
    const Clock &m_clock;
};

} // namespace tidekeeper::http
