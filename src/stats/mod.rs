//! The statistics specification: pure functions, one file per family of estimators.
