#include <assert.h>
#include "ring.h"

int main(void)
{
    struct ring ring;
    ring_init(&ring);
    for (int i = 0; i < RING_CAPACITY; i++)
        assert(ring_put(&ring, (unsigned char)i));
    assert(!ring_put(&ring, 99));
    return 0;
}
