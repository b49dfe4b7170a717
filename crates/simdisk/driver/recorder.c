// SPDX-License-Identifier: MIT OR GPL-2.0
/* The driver with a log of everything that is written. */
#define FSARENA_WRITE_LOG 1
#include "driver.c"
