package AccessLog;
use strict;
use warnings FATAL => 'all';

# Adds up the lines of an access log: requests, bytes and errors.
sub report {
    my @lines = @_;
    my %sum = (requests => 0, bytes => 0, errors => 0);
    for my $line (@lines) {
        next unless $line =~ /"[A-Z]+ \S+ [^"]*" (\d{3}) (\S+)/;
        my ($status, $size) = ($1, $2);
        $sum{requests}++;
        $sum{bytes} += $size;
        $sum{errors}++ if $status > 300;
    }
    return \%sum;
}

1;
