//! The scripted model.
