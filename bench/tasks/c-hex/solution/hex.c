#include "hex.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int hex_decode(const char *text, unsigned char *out)
{
    int count = 0;
    while (*text) {
        int high = digit(text[0]);
        int low = text[1] ? digit(text[1]) : -1;
        if (high < 0 || low < 0)
            return -1;
        out[count++] = (unsigned char)(high * 16 + low);
        text += 2;
    }
    return count;
}
