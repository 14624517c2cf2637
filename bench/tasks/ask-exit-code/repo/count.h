#ifndef COUNT_H
#define COUNT_H

#include <stdio.h>

enum { COUNT_OK = 0, COUNT_BROKEN = 1, COUNT_EMPTY = 3 };

int count_lines(FILE *file, long *lines);

#endif
