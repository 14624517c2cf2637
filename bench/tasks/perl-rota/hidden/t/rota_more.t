use strict;
use warnings;
use Test::More tests => 8;
use Rota;

my $rota = Rota->new(qw(ann bob cy));
is($rota->on_duty(0), 'ann');
is($rota->on_duty(-2), 'bob');
is($rota->on_duty(-3), 'ann');
is($rota->on_duty(-4), 'cy');
is($rota->on_duty(299), 'cy');
$rota->swap(0, 'bob')->swap(-3, 'eve');
is($rota->on_duty(0), 'bob');
is($rota->on_duty(-3), 'eve');
is($rota->on_duty(3), 'ann');
