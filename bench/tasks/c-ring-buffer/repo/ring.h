#ifndef RING_H
#define RING_H

#define RING_CAPACITY 4

struct ring {
    unsigned char bytes[RING_CAPACITY];
    unsigned head; /* where the next byte is read */
    unsigned tail; /* where the next byte is written */
    unsigned count;
};

void ring_init(struct ring *ring);
/* 1 when the byte went in, 0 when the buffer is full. */
int ring_put(struct ring *ring, unsigned char byte);
/* The oldest byte, or -1 when there is none. */
int ring_get(struct ring *ring);

#endif
