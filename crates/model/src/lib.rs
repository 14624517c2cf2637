//! Models behind one request and reply.
