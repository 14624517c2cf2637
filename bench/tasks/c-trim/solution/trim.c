#include "trim.h"

#include <string.h>

static int blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

char *trim(char *text)
{
    size_t length = strlen(text);
    size_t start = 0;
    while (length > 0 && blank(text[length - 1]))
        length--;
    while (start < length && blank(text[start]))
        start++;
    memmove(text, text + start, length - start);
    text[length - start] = '\0';
    return text;
}
