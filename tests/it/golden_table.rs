//! Where the golden tables are: `tests/golden`, or the folder named by `FARM_GOLDEN`.

use std::path::PathBuf;

/// The text of one golden table.
pub(crate) fn read(name: &str) -> String {
    let dir = std::env::var_os("FARM_GOLDEN").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden"),
        PathBuf::from,
    );
    let path = dir.join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// A table that ran fewer rows than it has proves nothing: the shipped ones are counted exactly.
pub(crate) fn check_count(name: &str, ran: usize, shipped: usize) {
    if std::env::var_os("FARM_GOLDEN").is_some() {
        assert!(ran > 0, "{name}: no row ran");
    } else {
        assert_eq!(ran, shipped, "{name}");
    }
}
