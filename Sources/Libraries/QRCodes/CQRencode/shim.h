#pragma once
/* libqrencode without linking it: its types. Its functions are looked up at run time. */
#include <qrencode.h>
