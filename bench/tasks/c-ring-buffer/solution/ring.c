#include "ring.h"

void ring_init(struct ring *ring)
{
    ring->head = ring->tail = ring->count = 0;
}

int ring_put(struct ring *ring, unsigned char byte)
{
    if (ring->count >= RING_CAPACITY)
        return 0;
    ring->bytes[ring->tail] = byte;
    ring->tail = (ring->tail + 1) % RING_CAPACITY;
    ring->count++;
    return 1;
}

int ring_get(struct ring *ring)
{
    int byte;
    if (ring->count == 0)
        return -1;
    byte = ring->bytes[ring->head];
    ring->head = (ring->head + 1) % RING_CAPACITY;
    ring->count--;
    return byte;
}
