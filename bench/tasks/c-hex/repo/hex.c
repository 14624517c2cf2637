#include "hex.h"

static int digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c - 'a' + 10;
}

int hex_decode(const char *text, unsigned char *out)
{
    int count = 0;
    while (text[0] && text[1]) {
        out[count++] = (unsigned char)(digit(text[0]) * 16 + digit(text[1]));
        text += 2;
    }
    return count;
}
