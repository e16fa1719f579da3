// SPDX-License-Identifier: Apache-2.0
#include "http/adoptcontroller.h"

using namespace Qt::StringLiterals;

namespace tidekeeper::http {

AdoptController::AdoptController(Router &router, renewal::Custodian &custodian) : m_custodian(custodian)
{
    router.add(Method::Post, u"/api/v1/accounts/adopt"_s, Role::Admin,
               [this](Request request) { return adopt(std::move(request)); });
}

QCoro::Task<Response> AdoptController::adopt(Request request)
{
    const QString actor = request.principal.name;
    const Result<bool> adopted = co_await m_custodian.adopt(actor);
    if (!adopted)
        co_return Response::problem(adopted.error());
    co_return Response::json({{u"adopted"_s, *adopted}});
}

} // namespace tidekeeper::http
