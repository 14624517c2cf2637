package Wildcard;
use strict;
use warnings;

# A pattern with * for anything as a regular expression.
sub compile {
    my ($pattern) = @_;
    $pattern =~ s/\*/.*/g;
    return qr/$pattern/;
}

1;
