//! Waits for several futures at once.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A future that can be kept in a list.
pub(crate) type BoxedFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Runs all to their ends, side by side; the results are in the order of the futures.
pub(crate) async fn join_all<T: Send>(futures: Vec<BoxedFuture<'_, T>>) -> Vec<T> {
    let mut slots: Vec<Result<T, BoxedFuture<'_, T>>> = futures.into_iter().map(Err).collect();
    poll_fn(|context| {
        let mut waiting = false;
        for slot in &mut slots {
            if let Err(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *slot = Ok(value),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    slots.into_iter().filter_map(Result::ok).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_run_side_by_side_and_keep_their_order() {
        // Each but the last waits for the one after it, so one after the other they would never end.
        let (senders, receivers): (Vec<_>, Vec<_>) =
            (0..5).map(|_| tokio::sync::oneshot::channel::<()>()).unzip();
        let mut before: Option<tokio::sync::oneshot::Sender<()>> = None;
        let mut futures: Vec<BoxedFuture<'_, usize>> = Vec::new();
        for (number, (sender, receiver)) in senders.into_iter().zip(receivers).enumerate() {
            let tell = before.replace(sender);
            futures.push(Box::pin(async move {
                if number < 4 {
                    let _ = receiver.await;
                }
                tell.map(|tell| tell.send(()));
                number
            }));
        }
        assert_eq!(join_all(futures).await, [0, 1, 2, 3, 4]);
    }
}
