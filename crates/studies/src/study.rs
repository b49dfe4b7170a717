//! A study: figures, claims, hardware, caveats, and the corresponding tests of fsarena.

use config::{CatalogError, NamedEntry, Publication, SpannedText, did_you_mean};
use model::{Bytes, Op, Phase, SweepAxis, check_name};
use serde::Serialize;

use crate::claims::evaluate::evaluate;
use crate::claims::verdict::ClaimVerdict;
use crate::figures::FigureTable;
use crate::figures::consistency::Check;
use crate::language::{RESERVED, Statement, Vocabulary, parse, parse_cells};
use crate::{Evidence, PublishedEvidence};

/// A published comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Study {
    /// Name of the study.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Publication of the study.
    pub source: String,
    /// Size of the volume.
    pub size: Bytes,
    /// Memory of the machine, or `None` if the campaign does not fix it.
    pub memory: Option<Bytes>,
    /// Repetitions of each test, or `None` if the campaign does not fix them.
    pub rounds: Option<u32>,
    /// Its figures.
    pub figures: FigureTable,
    /// The machine, versions and command lines.
    pub hardware: Vec<(String, String)>,
    /// Caveats about unreliable figures.
    pub doubts: Vec<FigureDoubt>,
    /// The conclusions of the study.
    pub claims: Vec<Claim>,
    /// The corresponding tests of fsarena.
    pub counterparts: Vec<PhaseMapping>,
    pub(crate) checks: Vec<Check>,
}

/// A reason not to rely on some figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureDoubt {
    /// Of whom.
    pub contenders: Vec<String>,
    /// Paths of the figures.
    pub figures: Vec<String>,
    /// Why.
    #[serde(rename = "why")]
    pub reason: String,
}

/// A conclusion of a study.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Claim {
    /// Identifier of the claim.
    pub id: String,
    /// In a sentence.
    pub text: String,
    /// Statements about figures, which must all hold.
    pub statements: Vec<Statement>,
    /// The reason why no figure decides it, or `None` if it has statements.
    pub undecidable: Option<String>,
}

impl Claim {
    /// Returns the sizes and tolerances that the verdict depends on, without duplicates; empty if
    /// there are none.
    pub fn interpretation(&self) -> String {
        let mut all: Vec<String> = self.statements.iter().flat_map(Statement::taken_as).collect();
        let mut seen = std::collections::BTreeSet::new();
        all.retain(|one| seen.insert(one.clone()));
        all.join("; ")
    }

    /// Evaluates the claim by evidence.
    pub fn judge(&self, evidence: &dyn Evidence) -> ClaimVerdict {
        match &self.undecidable {
            Some(reason) => ClaimVerdict::undecidable(reason),
            None => evaluate(&self.statements, evidence),
        }
    }
}

/// Mapping from a phase of a study to the phases of fsarena that do the same work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseMapping {
    /// The test of the study.
    pub test: String,
    /// Its phase.
    pub phase: String,
    /// Phases of fsarena. The times of several phases are added.
    pub parts: Vec<MappedPhase>,
}

/// A phase of a test of fsarena, at some or all points of a sweep.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MappedPhase {
    /// Name of the test or the sweep.
    pub test: String,
    /// Name of the phase, or `*` for all phases except preparations.
    pub phase: String,
    /// Point of a sweep, or `None` for all points.
    pub at: Option<(SweepAxis, AxisPosition)>,
    /// Whether the time depends on the size of the volume, because the phase creates or checks the
    /// filesystem.
    #[serde(skip)]
    pub(crate) is_of_size: bool,
}

/// Position on an axis of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AxisPosition {
    /// The point with this number.
    Value(u64),
    /// The point with the largest number.
    Largest,
    /// The point with the smallest number.
    Smallest,
}

impl Study {
    /// Interprets the texts of a study. Returns `None` for a study that has only a campaign.
    ///
    /// # Errors
    /// Returns an error in one line, with file and line, if a figure is malformed, a statement is
    /// not understood, or a name is not known.
    pub fn read(study: &config::StudySource) -> Result<Option<Self>, CatalogError> {
        let Some(of) = &study.published else {
            return Ok(None);
        };
        let figures = FigureTable::read(&study.name, of)?;
        let reader =
            StudyReader { study, of, vocabulary: vocabulary(of, &figures)?, figures: &figures };
        reader.names_are_known()?;
        let checks = of.checks.iter();
        let read = Self {
            name: study.name.clone(),
            title: study.title.clone(),
            source: study.source.clone(),
            size: study.size,
            memory: study.memory,
            rounds: study.rounds,
            hardware: of
                .hardware
                .iter()
                .map(|fact| (fact.name.text.clone(), fact.means.clone()))
                .collect(),
            doubts: reader.doubts()?,
            claims: reader.claims()?,
            counterparts: reader.counterparts()?,
            checks: checks
                .map(|check| {
                    let read = Check::read(check, &reader.vocabulary);
                    read.map_err(|message| reader.wrong(&check.description, message))
                })
                .collect::<Result<_, _>>()?,
            figures,
        };
        Ok(Some(read))
    }

    /// Evaluates every claim by the study's own figures.
    pub fn evaluate_claims(&self) -> Vec<(&Claim, ClaimVerdict)> {
        let evidence = PublishedEvidence(&self.figures);
        self.claims.iter().map(|claim| (claim, claim.judge(&evidence))).collect()
    }

    /// Returns the failed checks, one sentence each.
    pub fn inconsistencies(&self) -> Vec<String> {
        let checks = self.checks.iter();
        checks.filter_map(|check| check.off(&self.figures)).collect()
    }

    /// Returns the counterpart in fsarena of a phase of the study.
    pub fn counterpart(&self, test: &str, phase: &str) -> Option<&PhaseMapping> {
        let mut all = self.counterparts.iter();
        all.find(|one| one.test == test && one.phase == phase)
    }
}

/// Returns the vocabulary for the statements of a study.
fn vocabulary(of: &Publication, figures: &FigureTable) -> Result<Vocabulary, CatalogError> {
    let mut vocabulary = Vocabulary {
        contenders: figures.contenders.iter().map(|c| c.name.clone()).collect(),
        groups: Vec::new(),
        figures: figures
            .figures
            .iter()
            .map(|figure| (figure.path(), figure.unit.clone()))
            .collect(),
    };
    let is_word = |name: &str| check_name(name).is_ok() && !RESERVED.contains(&name);
    for group in &of.groups {
        let wrong = |message| wrong(of, &group.name, message);
        if !is_word(&group.name.text) || vocabulary.contenders.contains(&group.name.text) {
            let message = format!("`{}` cannot be the name of a group", group.name.text);
            return Err(wrong(message));
        }
        for member in &group.means {
            if !vocabulary.contenders.contains(member) {
                return Err(wrong(unknown_contender(member, &vocabulary.contenders)));
            }
        }
        let members = group.means.clone();
        vocabulary.groups.push((group.name.text.clone(), members));
    }
    if let Some(name) = vocabulary.contenders.iter().find(|name| !is_word(name)) {
        return Err(CatalogError::InFile {
            file: of.figures_file.clone(),
            line: 1,
            message: format!(
                "`{name}` is a word of the language of claims, and cannot be a filesystem"
            ),
        });
    }
    Ok(vocabulary)
}

fn unknown_contender(name: &str, known: &[String]) -> String {
    let hint = did_you_mean(name, known.iter().map(String::as_str));
    let hint = hint.unwrap_or_else(|| format!("they are {}", known.join(", ")));
    format!("`{name}` is not a contender of the figures; {hint}")
}

fn wrong(of: &Publication, at: &SpannedText, message: String) -> CatalogError {
    CatalogError::InFile { file: of.file.clone(), line: at.line, message }
}

struct StudyReader<'a> {
    study: &'a config::StudySource,
    of: &'a Publication,
    vocabulary: Vocabulary,
    figures: &'a FigureTable,
}

impl StudyReader<'_> {
    fn wrong(&self, at: &SpannedText, message: String) -> CatalogError {
        wrong(self.of, at, message)
    }

    /// Returns an error if the name of a filesystem, a variant or a metric is not in the figures.
    fn names_are_known(&self) -> Result<(), CatalogError> {
        let known = &self.vocabulary.contenders;
        let all = self.of.filesystems.iter().map(|named| &named.name);
        for name in all.chain(self.of.variants.iter().map(|variant| &variant.name)) {
            if !known.contains(&name.text) {
                return Err(self.wrong(name, unknown_contender(&name.text, known)));
            }
        }
        for named in &self.of.filesystems {
            let is_known = named.means == "none" || self.study.contenders.contains(&named.means);
            if !is_known {
                let message = format!(
                    "`{}` is not in the study's `contenders`; use `none` if fsarena has no such filesystem",
                    named.means
                );
                return Err(self.wrong(&named.name, message));
            }
        }
        let metrics = || self.figures.figures.iter().map(|figure| &figure.metric);
        for named in &self.of.better {
            if !metrics().any(|metric| *metric == named.name.text) {
                let message = format!("no figure has the metric `{}`", named.name.text);
                return Err(self.wrong(&named.name, message));
            }
        }
        Ok(())
    }

    fn doubts(&self) -> Result<Vec<FigureDoubt>, CatalogError> {
        let mut doubts = Vec::new();
        for doubt in &self.of.doubts {
            for said in &doubt.figures {
                let (contenders, figures) = parse_cells(&said.text, &self.vocabulary)
                    .map_err(|message| self.wrong(said, message))?;
                doubts.push(FigureDoubt { contenders, figures, reason: doubt.reason.clone() });
            }
        }
        Ok(doubts)
    }

    fn claims(&self) -> Result<Vec<Claim>, CatalogError> {
        let mut claims: Vec<Claim> = Vec::new();
        for claim in &self.of.claims {
            if claims.iter().any(|other| other.id == claim.id.text) {
                let message = format!("there is a claim `{}` already", claim.id.text);
                return Err(self.wrong(&claim.id, message));
            }
            let figures = claim.figures.as_ref().map(|said| said.text.as_str());
            let statements = claim.statements.iter().map(|said| {
                let statement = parse(&said.text, &self.vocabulary, figures);
                statement.map_err(|message| self.wrong(said, message))
            });
            claims.push(Claim {
                id: claim.id.text.clone(),
                text: claim.text.clone(),
                statements: statements.collect::<Result<_, _>>()?,
                undecidable: claim.undecidable.clone(),
            });
        }
        Ok(claims)
    }

    fn counterparts(&self) -> Result<Vec<PhaseMapping>, CatalogError> {
        let one = |named: &NamedEntry<Vec<String>>| {
            let read = self.counterpart(named);
            read.map_err(|message| self.wrong(&named.name, message))
        };
        self.of.phases.iter().map(one).collect()
    }

    fn counterpart(&self, named: &NamedEntry<Vec<String>>) -> Result<PhaseMapping, String> {
        let path = named.name.text.split_once('/');
        let (test, phase) = path.ok_or("expected TEST/PHASE of the figures")?;
        let mut figures = self.figures.figures.iter();
        if !figures.any(|figure| figure.test == test && figure.phase == phase) {
            return Err(format!("no figure is of `{}`", named.name.text));
        }
        let parts = named.means.iter().map(|text| self.part(text));
        Ok(PhaseMapping {
            test: test.to_owned(),
            phase: phase.to_owned(),
            parts: parts.collect::<Result<_, _>>()?,
        })
    }

    /// Parses `TEST/PHASE`, `TEST/*`, `SWEEP/PHASE at size=largest`.
    fn part(&self, text: &str) -> Result<MappedPhase, String> {
        let expected = || {
            format!(
                "`{text}`: expected TEST/PHASE of the study's suites, or `SWEEP/PHASE at AXIS=VALUE`, where `largest` \
                 and `smallest` are values, too"
            )
        };
        let (path, at) = match text.split_once(" at ") {
            Some((path, at)) => (path, Some(at)),
            None => (text, None),
        };
        let (test, phase) = path.trim().split_once('/').ok_or_else(expected)?;
        let tests = self.study.suites.iter().flat_map(|suite| &suite.tests);
        let phases = tests
            .filter(|known| known.sweep_name() == test || known.name == test)
            .flat_map(|known| &known.phases)
            .filter(|known| phase == "*" || known.name == phase);
        let phases: Vec<&Phase> = phases.collect();
        if phases.is_empty() {
            return Err(format!("the study's suites have no phase `{path}`"));
        }
        Ok(MappedPhase {
            test: test.to_owned(),
            phase: phase.to_owned(),
            at: at.map(|at| point(at).ok_or_else(expected)).transpose()?,
            is_of_size: phases.iter().all(|phase| is_of_size(&phase.op)),
        })
    }
}

/// Returns true if the time of an operation grows with the volume, because it writes or reads whole
/// tables and journals.
const fn is_of_size(op: &Op) -> bool {
    matches!(op, Op::Mkfs(_) | Op::Fsck(_))
}

fn point(text: &str) -> Option<(SweepAxis, AxisPosition)> {
    let (axis, value) = text.trim().split_once('=')?;
    let axis = SweepAxis::ALL.into_iter().find(|known| known.name() == axis)?;
    let point = match value {
        "largest" => AxisPosition::Largest,
        "smallest" => AxisPosition::Smallest,
        number => AxisPosition::Value(match number.parse() {
            Ok(number) => number,
            Err(_) => number.parse::<Bytes>().ok()?.0,
        }),
    };
    Some((axis, point))
}
