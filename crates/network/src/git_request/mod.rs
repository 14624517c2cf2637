//! What a git client says when it fetches: read line by line, so that nothing else goes out in its place.

mod gzip;
mod inflate;
mod upload_pack;

pub(crate) use gzip::unpacked;
pub(crate) use upload_pack::judge_upload_pack;
