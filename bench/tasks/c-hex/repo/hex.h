#ifndef HEX_H
#define HEX_H

/* Writes the bytes of a hex text to `out`, which has room for half its length.
   Gives the number of bytes, or -1 when the text is no hex. */
int hex_decode(const char *text, unsigned char *out);

#endif
