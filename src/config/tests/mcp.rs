//! `[tools.mcp.NAME]`.

use std::ffi::OsString;

use super::*;
use crate::domain::Scope;

#[test]
fn a_server_has_what_its_table_says() {
    let config = "
        [session]
        tools = [\"calculator\", \"fs__*\", \"my_db__query\"]
        [tools.mcp.fs]
        command = [\"server\", \"./a\", \".\"]
        [tools.mcp.my_db]
        command = [\"./a.md\"]
        env = [\"DB\"]
        share = \"run\"
        timeout_s = 0.5
    ";
    let fixture = Fixture::new(config);
    let resolved = fixture.resolve(&[], &[], &[]).unwrap();
    let [fs, db] = &resolved.tools.mcp[..] else {
        panic!("two servers")
    };
    let here = fixture.dir.path();
    let command: [OsString; 3] = ["server".into(), here.join("a").into(), ".".into()];
    assert_eq!(fs.command, command);
    assert_eq!(fs.env, [""; 0]);
    assert_eq!((fs.share, fs.max_processes), (Scope::Session, 32));
    assert_eq!((fs.resumable, fs.max_bytes), (false, 65536));
    assert_eq!(
        (db.share, &db.env[..]),
        (Scope::Run, &["DB".to_owned()][..])
    );
    assert_eq!(db.timeout, Duration::from_millis(500));
    assert_eq!(resolved.variants[0].tools[1], "fs__*");
    assert_eq!(
        resolved.tool_names(&["calculator"]),
        ["calculator", "fs__*", "my_db__*"]
    );
}

#[test]
fn a_command_moves_with_the_config() {
    let config = "tools.mcp.s.command = [\"./a.md\", \"./a\", \"--x\", \".\"]";
    let fixture = Fixture::new(config);
    let first = fixture.resolve(&[], &[], &[]).unwrap();
    for folder in ["results/run", ""] {
        let folder = fixture.dir.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("config.toml");
        fs::write(&file, first.to_toml(&folder)).unwrap();
        let again = setup(&file);
        assert_eq!(again.tools.mcp, first.tools.mcp);
        assert_eq!(again.meaning(), first.meaning());
    }
    // A program may be what the link to it is called.
    let here = fixture.dir.path();
    std::os::unix::fs::symlink("a.md", here.join("link")).unwrap();
    fs::write(here.join("farm.toml"), "tools.mcp.s.command = [\"./link\"]").unwrap();
    let linked = fixture.resolve(&[], &[], &[]).unwrap();
    let link = here.canonicalize().unwrap().join("link");
    assert_eq!(linked.tools.mcp[0].command, [link]);
    let file = here.join("results/run/config.toml");
    fs::write(&file, linked.to_toml(&here.join("results/run"))).unwrap();
    assert_eq!(setup(&file).tools.mcp, linked.tools.mcp);
    fs::write(here.join("farm.toml"), config).unwrap();
    let digest = first.digest().unwrap();
    fs::write(fixture.dir.path().join("a.md"), "another program").unwrap();
    let changed = fixture.resolve(&[], &[], &[]).unwrap();
    assert_ne!(changed.digest().unwrap(), digest, "a program is its bytes");
}

fn setup(file: &Path) -> Resolved {
    resolve(&Sources {
        file: ConfigFile::Recorded(file),
        env: &[],
        flags: &[],
        models: &[],
        known: KNOWN,
        recordings: &OneRun,
    })
    .unwrap()
}

#[test]
fn what_is_wrong_with_servers_is_told() {
    let config = "
[session]
tools = [\"calculator\", \"fs__\", \"db__query\"]
[tools.mcp.fs]
env = [\"A=1\"]
[tools.mcp.Fs]
command = [\"bin/server\"]
[tools.mcp.a__b]
command = [\"server\"]
[tools.mcp.gone]
command = [\"./gone\"]
comand = []
";
    insta::assert_snapshot!(Fixture::new(config).problems(&[], &[], &[]), @r#"
F:3:9: session.tools: unknown tool `fs__`; known are calculator, file_read, web_fetch, fs__*, Fs__*, a__b__*, gone__*; did you mean `fs__*`?
F:3:9: session.tools: unknown tool `db__query`; known are calculator, file_read, web_fetch, fs__*, Fs__*, a__b__*, gone__*
F:4:12: server `fs` has no command; add command = ["PROGRAM", "ARGUMENT", …]
F:5:7: tools.mcp.fs.env: "A=1" is not the name of an environment variable
F:6:12: server `Fs` differs from `fs` in its case alone; a model would take one for the other
F:7:11: tools.mcp.Fs.command: "bin/server" is neither a program's name nor a path; write "./bin/server" for what lies beside this file
F:8:12: "a__b" is not a name of a server: use 1 to 32 of A-Z a-z 0-9 -, and single _ between them
F:11:11: tools.mcp.gone.command: D/gone cannot be read: No such file or directory (os error 2)
F:12:1: unknown key `tools.mcp.gone.comand`; did you mean `command`?
"#);
}
