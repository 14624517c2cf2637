//! Two things at once, until the first of them ends.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;

/// Which one ended first.
pub(crate) enum First<A, B> {
    One(A),
    Other(B),
}

/// Ends with whichever ends first; the other is dropped.
pub(crate) async fn first<A, B>(one: impl Future<Output = A>, other: impl Future<Output = B>) -> First<A, B> {
    let (mut one, mut other) = (pin!(one), pin!(other));
    std::future::poll_fn(|context| {
        if let Poll::Ready(value) = one.as_mut().poll(context) {
            return Poll::Ready(First::One(value));
        }
        other.as_mut().poll(context).map(First::Other)
    })
    .await
}
