#include <assert.h>
#include "hex.h"

int main(void)
{
    unsigned char out[16];
    assert(hex_decode("", out) == 0);
    assert(hex_decode("0", out) == -1);
    assert(hex_decode("zz", out) == -1);
    assert(hex_decode("0g", out) == -1);
    assert(hex_decode("g0", out) == -1);
    assert(hex_decode("0x10", out) == -1);
    assert(hex_decode("1 2 ", out) == -1);
    assert(hex_decode("@f", out) == -1);
    assert(hex_decode("DeadBeef", out) == 4);
    assert(out[0] == 0xde && out[1] == 0xad && out[2] == 0xbe && out[3] == 0xef);
    return 0;
}
