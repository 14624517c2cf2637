#ifndef LIST_H
#define LIST_H

struct node {
    int song;
    struct node *next;
};

struct list {
    struct node *head;
    struct node *tail;
    int length;
};

void list_append(struct list *list, int song);
/* Removes the first entry with this song; 1 when there was one. */
int list_remove(struct list *list, int song);
void list_clear(struct list *list);

#endif
