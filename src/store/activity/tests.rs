use super::*;
use crate::store::{Options, Store, Write, writer::tests as fixtures};

fn doing(session: u64, activity: Activity, until: Option<f64>) -> Doing {
    Doing {
        session: SessionId(session),
        activity,
        since: 1.5,
        until,
    }
}

#[tokio::test]
async fn each_look_takes_the_place_of_the_last() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let store = Store::create(&path, "r", &fixtures::grid(2, 9), Options::default()).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.look().unwrap(), None, "nobody has looked");
    let all = [
        Activity::Thinking,
        Activity::Tool,
        Activity::Slot,
        Activity::Rate,
        Activity::Backoff,
        Activity::Money,
        Activity::Scorer,
    ];
    let list: Vec<Doing> = (0..)
        .zip(all)
        .map(|(id, activity)| doing(id, activity, (id == 4).then_some(9.5)))
        .collect();
    // A session is looked at while it is handed on, a second time: the first look stands.
    let mut twice = list.clone();
    twice.push(doing(0, Activity::Tool, None));
    for (at, given, want) in [
        (2.0, twice, list.clone()),
        (3.0, list[3..].to_vec(), list[3..].to_vec()),
        (4.0, Vec::new(), Vec::new()),
    ] {
        let look = Write::Activities { at, list: given };
        store.handle().commit(vec![look]).await.unwrap();
        assert_eq!(reader.look().unwrap(), Some(Look { at, list: want }));
    }
    store.join().await.unwrap();
}

#[tokio::test]
async fn what_is_parked_stays_so_until_the_run_is_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("farm.db");
    let grid = fixtures::grid(2, 9);
    let store = Store::create(&path, "r", &grid, Options::default()).unwrap();
    let park = |what: &str, reason: &str, ts| Write::Parked {
        what: what.into(),
        reason: reason.into(),
        ts,
    };
    let writes = vec![
        park("endpoint b", "auth: 401", 3.0),
        park("endpoint a", "quota_exhausted", 2.0),
        park("endpoint b", "auth: 401 again", 4.0),
        Write::Activities {
            at: 5.0,
            list: vec![doing(1, Activity::Slot, None)],
        },
    ];
    store.handle().commit(writes).await.unwrap();
    store.join().await.unwrap();
    let told = |reader: &Reader| -> Vec<String> {
        let parked = reader.parked().unwrap().into_iter();
        parked
            .map(|p| format!("{} {} {}", p.ts, p.what, p.reason))
            .collect()
    };
    let reader = Reader::open(&path).unwrap();
    let want = ["2 endpoint a quota_exhausted", "3 endpoint b auth: 401"];
    assert_eq!(told(&reader), want, "also when the run is over");
    assert!(reader.look().unwrap().is_some());
    drop(reader);

    let store = Store::open(&path, "r", &grid, Options::default()).unwrap();
    let reader = Reader::open(&path).unwrap();
    assert!(told(&reader).is_empty());
    assert_eq!(reader.look().unwrap(), None, "nobody has looked yet");
    store.join().await.unwrap();
}
