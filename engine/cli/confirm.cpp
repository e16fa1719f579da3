// SPDX-License-Identifier: Apache-2.0
#include "cli/confirm.h"

#include <cstdio>
#include <iostream>
#include <string>
#include <unistd.h>

namespace tidekeeper::cli {

bool isConfirmed(bool yes)
{
    if (yes || isatty(STDIN_FILENO) == 0)
        return true;
    std::fputs("Go on? [y/N] ", stderr);
    std::string answer;
    std::getline(std::cin, answer);
    return answer == "y" || answer == "Y" || answer == "yes";
}

} // namespace tidekeeper::cli
