//! What the renderers make of the fixture, whole, as a person sees it.

mod csv;
mod forest;
mod junit;
mod markdown;
mod served;
mod session;
mod terminal;
