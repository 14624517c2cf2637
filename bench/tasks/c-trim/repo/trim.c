#include "trim.h"

#include <string.h>

char *trim(char *text)
{
    size_t length = strlen(text);
    size_t start = 0;
    while (length > 0 && text[length - 1] == ' ')
        length--;
    while (text[start] == ' ')
        start++;
    memmove(text, text + start, length - start);
    text[length - start] = '\0';
    return text;
}
