//! The native agent: it thinks here, outside the walls, and acts through hands inside of them.

