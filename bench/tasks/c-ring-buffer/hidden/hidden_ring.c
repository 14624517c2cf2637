#include <assert.h>
#include "ring.h"

int main(void)
{
    struct ring ring;
    ring_init(&ring);
    assert(ring_get(&ring) == -1);
    for (int round = 0; round < 10; round++) {
        for (int i = 0; i < RING_CAPACITY; i++)
            assert(ring_put(&ring, (unsigned char)(round * 10 + i)));
        assert(!ring_put(&ring, 1));
        assert(ring_get(&ring) == round * 10);
        assert(ring_put(&ring, 200));
        for (int i = 1; i < RING_CAPACITY; i++)
            assert(ring_get(&ring) == round * 10 + i);
        assert(ring_get(&ring) == 200);
        assert(ring_get(&ring) == -1);
    }
    return 0;
}
