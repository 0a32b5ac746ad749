//! From arguments, config and files to a plan that can be run, with every problem on the way.

use std::{
    collections::{BTreeMap, HashMap},
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use serde_json::{Value, json};

use super::{
    afford, leaks,
    live::{Funds, Live},
    models::{self, Makings},
    recordings::Recordings,
    request::{Request, SEALED_FOLDER},
    tools::Tools,
};
use crate::{
    config::{
        self, CaseRules, ConfigFile, Guard, Known, ModelConfig, ModelKind, Resolved, Sources,
    },
    domain::{Case, CaseId, Script, forecast::Judges},
    error::{Context, Error, Problem, Result},
    model::Judge,
    run::{Plan, PlannedCase, Variant},
    score::{self, SealedSuite},
    session::StepJudge,
    store::Durability,
    tool::{self, mcp_client::ServerInfo},
    verify::{self, Verifiers, VerifiersError},
};

/// The names that a config may use.
pub(super) const KNOWN: Known<'static> = Known {
    tools: &tool::BUILTIN,
    verifiers: &verify::NAMES,
};

/// All that a run needs before it begins.
pub(super) struct Ready {
    /// What is run.
    pub plan: Plan,
    /// What live models are paid from.
    pub funds: Funds,
    /// Who knows the answers; none with `--unscored`.
    pub sealed: Option<SealedSuite>,
    /// The model that grades sessions, if any has to be graded.
    pub grader: Option<Judge>,
    /// Where that was read from, or would be.
    pub sealed_file: PathBuf,
    /// The config.
    pub config: Resolved,
    /// The variants that ask a live model, by their place in the plan.
    pub live: Vec<usize>,
    /// SHA-256 over everything that gives the run its meaning.
    pub digest: String,
    /// Digests of the inputs, by name.
    pub inputs: BTreeMap<String, String>,
    /// What servers of tools said of themselves, by their names.
    pub servers: BTreeMap<String, ServerInfo>,
    /// The names of all tools that could have been chosen.
    pub tools: Vec<String>,
    /// What may not be meant so.
    pub warnings: Vec<String>,
}

/// A judge with the model that it asks.
#[derive(Clone, Copy)]
pub(super) struct Judging<'a> {
    /// What it judges.
    pub judges: Judges,
    /// What is asked, as the config has it.
    pub model: &'a ModelConfig,
    /// How that is asked.
    pub judge: &'a Judge,
}

impl Ready {
    /// The judges that will be asked.
    pub fn judges(&self) -> Vec<Judging<'_>> {
        let of_steps = self.config.session.judge.as_ref().map(|judge| &judge.model);
        // All variants have the same.
        let of_steps = of_steps.zip(self.plan.variants[0].judge.as_ref());
        let of_steps = of_steps.map(|(model, of)| (Judges::Steps, model, &of.judge));
        let of_sessions = self.config.score_judge.as_ref().map(|grader| &grader.model);
        let of_sessions = of_sessions.zip(self.grader.as_ref());
        let of_sessions = of_sessions.map(|(model, judge)| (Judges::Sessions, model, judge));
        let all = of_steps.into_iter().chain(of_sessions);
        let judging = |(judges, model, judge)| Judging {
            judges,
            model,
            judge,
        };
        all.map(judging).collect()
    }

    /// What gives the run its meaning. A grader that nothing is asked of has no part in it.
    pub fn meaning(&self) -> Value {
        meaning(&self.config, self.grader.is_some())
    }

    /// What commits are to outlive: where a call costs money, also a loss of power.
    pub fn durability(&self) -> Durability {
        let is_priced = self.config.models().any(|model| match &model.kind {
            ModelKind::OpenAi(live) => live.price.is_some_and(|p| p.input > 0.0 || p.output > 0.0),
            _ => false,
        });
        match is_priced {
            true => Durability::Power,
            false => Durability::Process,
        }
    }
}

/// The inputs as read, with all that is wrong with them.
pub(super) struct Inputs {
    /// The config.
    pub config: Resolved,
    /// All cases of the file, each with its line.
    pub cases: Vec<(usize, Case)>,
    /// All scripts, by the file that they stand in.
    pub scripts: BTreeMap<PathBuf, Vec<Script>>,
    /// The sealed halves of all cases.
    pub sealed: Option<SealedSuite>,
    /// Where those were read from, or would be.
    pub sealed_file: PathBuf,
    /// What is wrong.
    pub problems: Vec<Problem>,
}

/// Reads config, cases, scripts and sealed halves.
///
/// # Errors
/// When the config is wrong: without it nothing else can be judged.
pub(super) fn read(request: &Request) -> Result<Inputs> {
    let config = resolve(request)?;
    let sealed_file = sealed_file(request, &config);
    let is_there = !config.run.unscored || sealed_file.exists();
    let sealed_path = is_there.then_some(sealed_file.as_path());
    let guard = Guard::new(sealed_path, Path::new(SEALED_FOLDER));
    let exposed = config.exposures(&guard);
    if !exposed.is_empty() {
        return Err(Error::problems(exposed));
    }
    let known = config.tool_names(&tool::BUILTIN);
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let rules = CaseRules {
        tools: &known,
        guard: &guard,
    };
    let lines = config::load_cases(&request.cases, rules);
    let mut problems = lines.problems;
    if let Err(e) = verifiers(&config) {
        problems.push(config.problem("session.verifiers", e.to_string()));
    }
    let cases = lines.values;
    let mut scripts = BTreeMap::new();
    for model in config.models() {
        let ModelKind::Scripted {
            scripts: Some(from),
            ..
        } = &model.kind
        else {
            continue;
        };
        let file = &from.file.path;
        if !scripts.contains_key(file) {
            let lines = config::load_scripts(file);
            problems.extend(lines.problems);
            let of_file = lines.values.into_iter().map(|(_, script)| script);
            scripts.insert(file.clone(), of_file.collect());
        }
    }
    // Cases that could not be read have no id to join: their sealed halves would look left over.
    let case_file = request.cases.display().to_string();
    let is_joined = !config.run.unscored && problems.iter().all(|p| p.file != case_file);
    let sealed = is_joined.then(|| {
        let ids: Vec<CaseId> = cases.iter().map(|(_, case)| case.id.clone()).collect();
        score::load(&sealed_file, &ids)
            .map_err(|more| problems.extend(more))
            .ok()
    });
    let sealed = sealed.flatten();
    if let Some(sealed) = &sealed {
        problems.extend(leaks::canaries(&request.cases, &cases, &config, sealed));
    }
    Ok(Inputs {
        config,
        cases,
        scripts,
        sealed,
        sealed_file,
        problems,
    })
}

/// Reads everything, selects, and puts the plan together.
///
/// # Errors
/// Everything that is wrong, at once.
pub(super) fn prepare(request: &Request) -> Result<Ready> {
    let inputs = read(request)?;
    if !inputs.problems.is_empty() {
        return Err(Error::problems(inputs.problems));
    }
    plan(request, inputs)
}

/// Selects cases and puts the plan together.
///
/// # Errors
/// When nothing is selected, or a scripted model has no script for a session.
pub(super) fn plan(request: &Request, inputs: Inputs) -> Result<Ready> {
    let Inputs {
        mut config,
        cases,
        scripts,
        sealed,
        sealed_file,
        ..
    } = inputs;
    let lines: HashMap<CaseId, usize> = cases
        .iter()
        .map(|(line, case)| (case.id.clone(), *line))
        .collect();
    let cases = cases.into_iter().map(|(_, case)| case).collect();
    let mut cases = request.pick.from(cases, &request.cases)?;
    let mut digests = digests(request, &config, &cases, sealed.as_ref())?;
    let place = |case: &CaseId| {
        (
            request.cases.as_path(),
            lines.get(case).copied().unwrap_or(0),
        )
    };
    let live = Live::of(&config, request.is_dry);
    let makings = Makings {
        cases: &cases,
        seeds: config.run.seeds.range(),
        scripts: &scripts,
        recordings: &request.recordings,
        live: &live,
        place: &place,
    };
    let mut variants = variants(&config, &makings)?;
    let grader = grader(&config, sealed.as_ref(), &makings, &sealed_file)?;
    // Last: servers are started for it.
    let tools = Tools::of(&config, &cases)?;
    let warnings = tools.warnings(&config, &cases);
    let chosen = tools.choose(&config, &cases, place)?;
    for (server, info) in &tools.servers {
        let name = format!("tools of server {server}");
        digests.insert(name, info.tools_sha256.clone());
    }
    for (variant, names) in variants.iter_mut().zip(&chosen.variants) {
        variant.tools.clone_from(names);
    }
    for (case, names) in cases.iter_mut().zip(chosen.cases) {
        case.tools = names;
    }
    let folder = request.cases.parent().unwrap_or(Path::new(""));
    let cases = cases
        .into_iter()
        .map(|mut case| {
            case.script = None;
            PlannedCase {
                files: case.files.as_ref().map(|files| folder.join(files)),
                case,
            }
        })
        .collect();
    let seeds = config.run.seeds.range();
    let plan = Plan::new(cases, variants, seeds, config.run.run_seed, &tools.registry)?;
    let beyond = afford::problems(&config, &plan);
    if !beyond.is_empty() {
        return Err(Error::problems(beyond));
    }
    let funds = live.into_funds();
    for (variant, names) in config.variants.iter_mut().zip(chosen.variants) {
        variant.tools = names;
    }
    let digest = config::digest(
        &json!({ "config": meaning(&config, grader.is_some()), "inputs": digests }),
    )?;
    let is_live = |at: &usize| matches!(config.variants[*at].model.kind, ModelKind::OpenAi(_));
    let live_variants = (0..config.variants.len()).filter(is_live).collect();
    Ok(Ready {
        plan,
        funds,
        live: live_variants,
        sealed,
        grader,
        sealed_file,
        config,
        digest,
        inputs: digests,
        servers: tools.servers,
        tools: tools.registry.names().map(str::to_owned).collect(),
        warnings,
    })
}

/// The config that a run has on record, without environment and command line.
pub(super) fn recorded(file: &Path, recordings: &Recordings) -> Result<Resolved> {
    config::resolve(&Sources {
        file: ConfigFile::Named(file),
        env: &[],
        flags: &[],
        models: &[],
        known: KNOWN,
        recordings,
    })
}

/// The config that a request means.
///
/// # Errors
/// Every problem of the config.
pub(super) fn resolve(request: &Request) -> Result<Resolved> {
    let env: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    config::resolve(&Sources {
        file: request.config.file(),
        env: &env,
        flags: &request.flags,
        models: &request.models,
        known: KNOWN,
        recordings: &request.recordings,
    })
}

/// The config's, or where it is looked for.
fn sealed_file(request: &Request, config: &Resolved) -> PathBuf {
    let named = config.run.sealed.as_ref().map(|sealed| sealed.path.clone());
    named.unwrap_or_else(|| request.sealed.clone())
}

/// What of a config gives a run its meaning.
fn meaning(config: &Resolved, is_graded: bool) -> Value {
    let mut meaning = config.meaning();
    if let Some(meaning) = meaning.as_object_mut().filter(|_| !is_graded) {
        meaning.remove("score_judge");
    }
    meaning
}

/// What the digest of a run takes from its inputs.
fn digests(
    request: &Request,
    config: &Resolved,
    cases: &[Case],
    sealed: Option<&SealedSuite>,
) -> Result<BTreeMap<String, String>> {
    let folder = request.cases.parent().unwrap_or(Path::new(""));
    let mut digests = BTreeMap::from([("cases".to_owned(), config::digest(&json!(cases))?)]);
    let mut folders: Vec<&str> = cases
        .iter()
        .filter_map(|case| case.files.as_deref())
        .collect();
    folders.sort_unstable();
    folders.dedup();
    for files in folders {
        let digest = config::files_digest(&folder.join(files))
            .input(|| format!("the files of {files} cannot be read"))?;
        digests.insert(format!("files {files}"), digest);
    }
    if let Some(sealed) = sealed {
        digests.insert("sealed".to_owned(), sealed.digest().to_owned());
    }
    for variant in &config.variants {
        digests.insert(
            format!("prompt {}", variant.name),
            variant.prompt.sha256.clone(),
        );
    }
    Ok(digests)
}

fn verifiers(config: &Resolved) -> Result<Verifiers, VerifiersError> {
    Verifiers::new(config.session.verifiers.iter().map(String::as_str))
}

fn variants(config: &Resolved, makings: &Makings<'_>) -> Result<Vec<Variant>> {
    let verifiers = verifiers(config).input(|| "session.verifiers".to_owned())?;
    let judge = config.session.judge.as_ref();
    let judge = judge.map(|judge| -> Result<_> {
        Ok(Arc::new(StepJudge {
            judge: makings.judge(&judge.model, &judge.parameters, |_| true)?,
            rubric: judge.rubric.clone(),
        }))
    });
    let judge = judge.transpose()?;
    let variants = config.variants.iter().map(|variant| {
        Ok(Variant {
            name: variant.name.clone(),
            model: makings.model(&variant.model, &variant.limits)?,
            endpoint: models::endpoint(&variant.model),
            account: variant.model.name.to_string(),
            prompt: variant.prompt.text.clone(),
            tools: variant.tools.clone(),
            limits: variant.limits.clone(),
            verifiers: verifiers.clone(),
            judge: judge.clone(),
            parameters: variant.parameters.clone(),
            options: models::options(&variant.model),
            send_reasoning: config.session.send_reasoning,
        })
    });
    variants.collect()
}

/// The model that grades sessions, if any case has to be graded.
fn grader(
    config: &Resolved,
    sealed: Option<&SealedSuite>,
    makings: &Makings<'_>,
    sealed_file: &Path,
) -> Result<Option<Judge>> {
    let is_graded = |case: &CaseId| sealed.is_some_and(|sealed| sealed.is_graded(case));
    let Some(case) = makings.cases.iter().find(|case| is_graded(&case.id)) else {
        return Ok(None);
    };
    let Some(grader) = &config.score_judge else {
        let message = format!(
            "case {} has a check of kind model_graded, and score.judge names no model to grade it",
            case.id
        );
        let hint = "name one of [models] in the config: score.judge = \"NAME\"";
        let problem = Problem::file(sealed_file, message).hint(hint);
        return Err(Error::problems(vec![problem]));
    };
    let judge = makings.judge(&grader.model, &grader.parameters, is_graded)?;
    Ok(Some(judge))
}
