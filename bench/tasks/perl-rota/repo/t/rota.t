use strict;
use warnings;
use Test::More tests => 3;
use Rota;

my $rota = Rota->new(qw(ann bob cy));
is($rota->on_duty(4), 'bob');
is($rota->on_duty(-1), 'cy');
is($rota->swap(4, 'cy')->on_duty(4), 'cy');
