//! Tools an agent may call.
