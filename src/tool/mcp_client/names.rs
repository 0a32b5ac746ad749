//! What tools of a server are called.

use sha2::{Digest, Sha256};

use crate::domain::hex;

/// Between the name of a server and that of its tool.
pub const SEPARATOR: &str = "__";

/// The longest name that providers take.
const MAX: usize = 64;

/// The names of a server's tools in farm: `SERVER__TOOL`, in the order of `tools`, which differ from
/// one another. Providers take `[A-Za-z0-9_-]{1,64}`: a dot becomes `_`, a name that is too long is
/// cut, and ends, like one that another tool has already, with a digest of what it was.
pub(super) fn names(server: &str, tools: &[&str]) -> Vec<String> {
    let full: Vec<String> = tools
        .iter()
        .map(|tool| format!("{server}{SEPARATOR}{tool}"))
        .collect();
    let plain: Vec<String> = full.iter().map(|name| name.replace('.', "_")).collect();
    let is_taken = |at: usize| {
        let mut others = plain.iter().enumerate();
        full[at] != plain[at] && others.any(|(n, other)| n != at && *other == plain[at])
    };
    (0..full.len())
        .map(|at| match plain[at].len() <= MAX && !is_taken(at) {
            true => plain[at].clone(),
            false => digested(&full[at], &plain[at]),
        })
        .collect()
}

/// A name that fits and no other tool has: ASCII, as the names of tools are.
fn digested(full: &str, plain: &str) -> String {
    let digest = hex(&Sha256::digest(full)[..4]);
    let room = MAX - digest.len() - 1;
    let kept = plain.get(..room).unwrap_or(plain);
    format!("{kept}_{digest}")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::{collection::vec, prelude::*};

    use super::*;
    use crate::domain::is_wire_name;

    #[test]
    fn names_say_whose_tool_it_is() {
        let fits = "n".repeat(60);
        let long = "n".repeat(61);
        let table: [(&[&str], &[&str]); 4] = [
            (
                &["read", "a-b_c", &fits],
                &["fs__read", "fs__a-b_c", &format!("fs__{fits}")],
            ),
            (&["a.b"], &["fs__a_b"]),
            (&["a.b", "a_b"], &["fs__a_b_#", "fs__a_b"]),
            (&[&long], &[&format!("fs__{}_#", &long[..51])]),
        ];
        for (tools, want) in table {
            let want = want.iter().zip(tools).map(|(want, tool)| {
                let digest = hex(&Sha256::digest(format!("fs__{tool}"))[..4]);
                want.replace('#', &digest)
            });
            assert_eq!(names("fs", tools), want.collect::<Vec<_>>());
        }
    }

    proptest! {
        #[test]
        fn names_fit_and_differ(tools in vec("[A-Za-z0-9_.-]{1,128}", 1..20)) {
            let tools: Vec<&str> = tools.iter().map(String::as_str).collect::<BTreeSet<_>>().into_iter().collect();
            let names = names("a-server_of_thirty-two_characters", &tools);
            let distinct: BTreeSet<&String> = names.iter().collect();
            prop_assert_eq!(distinct.len(), tools.len());
            for name in &names {
                prop_assert!(is_wire_name(name) && name.starts_with("a-server_of_thirty-two_"), "{}", name);
            }
        }
    }
}
