#include "count.h"

int count_lines(FILE *file, long *lines)
{
    int c;
    long bytes = 0;
    *lines = 0;
    while ((c = fgetc(file)) != EOF) {
        bytes++;
        if (c == '\n')
            (*lines)++;
    }
    if (ferror(file))
        return COUNT_BROKEN;
    return bytes ? COUNT_OK : COUNT_EMPTY;
}
