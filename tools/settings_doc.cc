// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "base/settings.h"

int main() { std::fputs(loomix::settings_document().c_str(), stdout); }
