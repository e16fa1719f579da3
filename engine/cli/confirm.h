// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace tidekeeper::cli {

/// "Go on? [y/N]". Only a person at a terminal is asked; a script has decided already, and so has yes.
bool isConfirmed(bool yes);

} // namespace tidekeeper::cli
