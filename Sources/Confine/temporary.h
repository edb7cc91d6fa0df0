#pragma once

#include <stdbool.h>
#include <stddef.h>

/// Makes a folder that only the user may enter, in memory where there is a place for that.
bool temporary_make(char *path, size_t size);

/// Removes it with all that is in it, however deep. Nothing may be running that could write there.
void temporary_remove(const char *path);
