#include <assert.h>
#include "hex.h"

int main(void)
{
    unsigned char out[8];
    assert(hex_decode("00ff", out) == 2 && out[0] == 0 && out[1] == 255);
    assert(hex_decode("AB", out) == 1 && out[0] == 171);
    assert(hex_decode("abc", out) == -1);
    return 0;
}
