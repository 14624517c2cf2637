#ifndef TRIM_H
#define TRIM_H

/* Removes blanks at both ends, in place, and gives the text back. */
char *trim(char *text);

#endif
