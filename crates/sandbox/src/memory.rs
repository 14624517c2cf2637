//! The memory of this process.

/// Hands memory that is free back to the system.
///
/// The C library of GNU keeps what was freed between pieces that are still in use, in a pool for each of many threads;
/// a server that once had much to do would stay that big for ever. With other C libraries there is nothing to do.
pub fn give_back() {
    #[cfg(target_env = "gnu")]
    // SAFETY: it takes a number, and any thread may call it at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
