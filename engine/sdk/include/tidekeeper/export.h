// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <QtCore/qglobal.h>

#if defined(TIDEKEEPER_SDK_BUILD)
#define TIDEKEEPER_SDK_EXPORT Q_DECL_EXPORT
#else
#define TIDEKEEPER_SDK_EXPORT Q_DECL_IMPORT
#endif
