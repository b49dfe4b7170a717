//! `figures.csv`: the figures of a study as printed, one per row.

pub(crate) mod consistency;
pub(crate) mod csv;
pub(crate) mod imported;

use std::collections::BTreeMap;

use config::{CatalogError, Publication};
use model::{Direction, Metric, Unit};
use serde::Serialize;

use crate::figures::csv::records;

/// The columns of the file, in order.
const COLUMNS: [&str; 14] = [
    "study",
    "year",
    "os",
    "driver",
    "filesystem",
    "filesystem_version",
    "test",
    "phase",
    "metric",
    "unit",
    "value",
    "censored",
    "status",
    "note",
];
/// Suffixes of metrics that give the bounds of a range, for figures printed as a range.
const BOUNDS: [&str; 2] = ["_min_bound", "_max_bound"];
/// Units of figures, each with the corresponding unit of fsarena and the factor between them.
const UNITS: [(&str, Unit, f64); 11] = [
    ("s", Unit::Seconds, 1.0),
    ("ms", Unit::Seconds, 1e-3),
    ("us", Unit::Seconds, 1e-6),
    ("B/s", Unit::BytesPerSecond, 1.0),
    ("KiB/s", Unit::BytesPerSecond, 1024.0),
    ("MiB/s", Unit::BytesPerSecond, 1_048_576.0),
    ("MB/s", Unit::BytesPerSecond, 1e6),
    ("files/s", Unit::PerSecond, 1.0),
    ("seeks/s", Unit::PerSecond, 1.0),
    ("operations/s", Unit::PerSecond, 1.0),
    ("percent", Unit::Percent, 1.0),
];

/// Units of sizes. One figure may mix them: a limit is in GB for one filesystem and in EB for
/// another.
const SIZES: [&str; 6] = ["KB", "MB", "GB", "TB", "PB", "EB"];

model::named_enum! {
    /// Outcome of a figure.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum FigureStatus {
        /// The figure was measured and printed.
        Ok = "ok",
        /// The step failed with an error.
        Failed = "failed",
        /// The driver, filesystem or machine crashed.
        Crashed = "crashed",
        /// The author declares it meaningless.
        Invalid = "invalid",
        /// The step was not reached, or the test was switched off.
        NotRun = "not-run",
        /// The figure was measured, or presumably so, but the text contains no number.
        Missing = "missing",
    }
}

/// A contender of a study: a filesystem, or one of several variants of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StudyContender {
    /// Name in claims.
    pub name: String,
    /// Name of the filesystem in the file of figures.
    pub filesystem: String,
    /// Version in the study.
    pub version: String,
    /// Operating system that ran the filesystem.
    pub os: String,
    /// Kind of driver: `kernel`, `fuse` or another word.
    pub driver: String,
    /// The corresponding filesystem of the catalog, or `None` if there is no such filesystem or
    /// this is a variant.
    pub catalog: Option<String>,
}

/// A figure of the study, with values for all contenders.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureSpec {
    /// The test.
    pub test: String,
    /// Its phase.
    pub phase: String,
    /// Metric of the numbers.
    pub metric: String,
    /// Unit of the first printed number; empty if there are no numbers.
    pub unit: String,
    /// Direction of better values. Neutral if neither is better and reports treat lower values as
    /// better.
    pub direction: Direction,
}

impl FigureSpec {
    /// Returns `TEST/PHASE/METRIC`, the name in claims.
    pub fn path(&self) -> String {
        format!("{}/{}/{}", self.test, self.phase, self.metric)
    }

    /// Returns the corresponding metric of fsarena, if it has one.
    pub fn matching_metric(&self) -> Option<Metric> {
        known_metric(&self.metric)
    }

    /// Returns the factor from the unit of the figure to the unit of fsarena, or `None` if the unit
    /// does not belong to the metric.
    pub fn scale(&self) -> Option<f64> {
        let metric = self.matching_metric()?;
        if self.unit == "count" && metric.unit() == Unit::Count {
            return Some(1.0);
        }
        let mut units = UNITS.into_iter();
        let (_, _, factor) =
            units.find(|(name, unit, _)| *name == self.unit && *unit == metric.unit())?;
        Some(factor)
    }
}

fn known_metric(word: &str) -> Option<Metric> {
    match word {
        "minor_page_faults" => Some(Metric::MinorFaults),
        "major_page_faults" => Some(Metric::MajorFaults),
        word => word.replace('_', "-").parse().ok(),
    }
}

/// One figure of one contender.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureValue {
    /// Outcome of the figure.
    pub status: FigureStatus,
    /// The number, in the figure's unit.
    pub value: Option<f64>,
    /// The number with its printed digits.
    pub printed: String,
    /// Its unit.
    pub unit: String,
    /// Whether the number is only a lower bound. Without a number, whether the figure was too fast
    /// to be timed, so that its rate is above every measurable rate.
    pub censored: bool,
    /// Bounds of the value, if a range is printed.
    pub range: Option<(f64, f64)>,
    /// Reason or explanation.
    pub note: String,
    /// Line in the file.
    pub line: usize,
}

impl FigureValue {
    /// Returns the number, if it is exact and not a bound.
    pub fn exact(&self) -> Option<f64> {
        self.value.filter(|_| !self.censored)
    }
}

/// The figures of a study: contenders, figures, and their values.
#[derive(Clone, Debug, PartialEq)]
pub struct FigureTable {
    /// The year in which the study was published.
    pub year: u16,
    /// The contenders, in the order of the file.
    pub contenders: Vec<StudyContender>,
    /// The figures, in the order of the file.
    pub figures: Vec<FigureSpec>,
    /// Values by contender and figure.
    cells: BTreeMap<(usize, usize), FigureValue>,
    /// Number of rows of the file.
    pub rows: usize,
}

impl FigureTable {
    /// Returns the number of cells with a number.
    pub fn numbers(&self) -> usize {
        self.cells().filter(|(_, _, cell)| cell.status == FigureStatus::Ok).count()
    }

    /// Reads the figures of a study.
    ///
    /// # Errors
    /// Returns an error in one line, with file and line, if a row is not a figure of this study.
    pub fn read(study: &str, of: &Publication) -> Result<Self, CatalogError> {
        let wrong = |(line, message): (usize, String)| CatalogError::InFile {
            file: of.figures_file.clone(),
            line,
            message,
        };
        let records = records(&of.figures);
        let records = records.map_err(|(line, why)| wrong((line, why.to_owned())))?;
        let mut reader = FigureReader {
            study,
            of,
            bounds: Vec::new(),
            figures: Self {
                year: 0,
                contenders: Vec::new(),
                figures: Vec::new(),
                cells: BTreeMap::new(),
                rows: 0,
            },
        };
        let mut records = records.into_iter();
        let header = records.next().unwrap_or_default();
        if header.1 != COLUMNS {
            let message = format!("expected the heading {}", COLUMNS.join(","));
            return Err(wrong((header.0.max(1), message)));
        }
        for (line, fields) in records {
            let row = <[String; 14]>::try_from(fields);
            let row = row.map_err(|fields| (line, count(&fields)));
            row.and_then(|row| reader.row(line, row)).map_err(wrong)?;
        }
        if reader.figures.rows == 0 {
            return Err(wrong((1, "expected figures, a row each".to_owned())));
        }
        reader.put_bounds().map_err(wrong)?;
        Ok(reader.figures)
    }

    /// Returns a figure of a contender, by their indices.
    pub fn cell(&self, contender: usize, figure: usize) -> Option<&FigureValue> {
        self.cells.get(&(contender, figure))
    }

    /// Returns a figure of a contender, by their names.
    pub fn value(&self, contender: &str, path: &str) -> Option<(&FigureSpec, &FigureValue)> {
        let contender = self.contenders.iter().position(|c| c.name == contender)?;
        let figure = self.index_of(path)?;
        Some((&self.figures[figure], self.cell(contender, figure)?))
    }

    /// Returns the index of a figure.
    pub fn index_of(&self, path: &str) -> Option<usize> {
        self.figures.iter().position(|f| f.path() == path)
    }

    /// Returns every value with its contender and its figure, row by row.
    pub fn cells(&self) -> impl Iterator<Item = (&StudyContender, &FigureSpec, &FigureValue)> {
        self.cells.iter().map(|((contender, figure), cell)| {
            (&self.contenders[*contender], &self.figures[*figure], cell)
        })
    }
}

fn count(fields: &[String]) -> String {
    let number = fields.len();
    format!("expected {} fields and found {number}: {}", COLUMNS.len(), COLUMNS.join(","))
}

/// A bound of a value, which is set after all rows have been read.
struct Bound {
    line: usize,
    contender: usize,
    figure: String,
    is_upper: bool,
    value: f64,
}

struct FigureReader<'a> {
    study: &'a str,
    of: &'a Publication,
    bounds: Vec<Bound>,
    figures: FigureTable,
}

type Wrong = (usize, String);

impl FigureReader<'_> {
    fn row(&mut self, line: usize, row: [String; 14]) -> Result<(), Wrong> {
        let wrong = |message: String| (line, message);
        let [
            study,
            year,
            os,
            driver,
            filesystem,
            version,
            test,
            phase,
            metric,
            unit,
            printed,
            censored,
            status,
            note,
        ] = row;
        if study != self.study {
            return Err(wrong(format!(
                "`study` is `{study}`; expected `{}`, the study's name",
                self.study
            )));
        }
        let year = year
            .parse()
            .map_err(|_| wrong(format!("`year` is `{year}`; expected a year such as `2011`")))?;
        for (column, name) in
            [("filesystem", &filesystem), ("test", &test), ("phase", &phase), ("metric", &metric)]
        {
            model::check_name(name).map_err(|e| wrong(format!("`{column}`: {e}")))?;
        }
        let known = FigureStatus::ALL.into_iter().find(|s| s.name() == status);
        let status = known.ok_or_else(|| {
            let words = FigureStatus::ALL.map(FigureStatus::name).join(", ");
            wrong(format!("`status` is `{status}`; expected one of: {words}"))
        })?;
        let value = number(&printed).map_err(wrong)?;
        let censored = match censored.as_str() {
            "" => false,
            ">" => true,
            _ => {
                let message = format!("`censored` is `{censored}`; expected nothing or `>`");
                return Err(wrong(message));
            }
        };
        if (status == FigureStatus::Ok) != (value.is_some() || censored) {
            let message = "a number, or `>` in `censored`, requires the status `ok`, and `ok` requires one of them";
            return Err(wrong(message.to_owned()));
        }
        if censored && value.is_none() && self.direction(&metric) != Direction::Higher {
            let message = format!(
                "`>` without a number means that a rate was above all others, but `{metric}` is not a rate"
            );
            return Err(wrong(message));
        }
        let contender = self.contender(&filesystem, &version, &os, &driver);
        let contender = contender.map_err(wrong)?;
        self.figures.rows += 1;
        self.figures.year = self.figures.year.max(year);
        let [lower, upper] = BOUNDS.map(|end| metric.strip_suffix(end));
        if let Some(of) = lower.or(upper) {
            let value = value.ok_or_else(|| wrong("a bound has a number".to_owned()))?;
            self.bounds.push(Bound {
                line,
                contender,
                figure: format!("{test}/{phase}/{of}"),
                is_upper: upper.is_some(),
                value,
            });
            return Ok(());
        }
        let in_unit = unit.clone();
        let figure = self.figure(FigureSpec {
            direction: self.direction(&metric),
            test,
            phase,
            metric,
            unit,
        });
        let figure = figure.map_err(wrong)?;
        let cell = FigureValue {
            status,
            value,
            printed,
            unit: in_unit,
            censored,
            range: None,
            note,
            line,
        };
        match self.figures.cells.insert((contender, figure), cell) {
            None => Ok(()),
            Some(other) => Err(wrong(format!(
                "line {} has this figure already; where two versions of a filesystem compete, name one under \
                 [variants] in {}",
                other.line, self.of.file
            ))),
        }
    }

    /// Returns the index of a contender, and adds it with its first figure.
    fn contender(
        &mut self,
        filesystem: &str,
        version: &str,
        os: &str,
        driver: &str,
    ) -> Result<usize, String> {
        let mut variants = self.of.variants.iter();
        let variant = variants.find(|v| v.means == [filesystem, version]);
        let name = variant.map_or(filesystem, |variant| &variant.name.text);
        if let Some(place) = self.figures.contenders.iter().position(|c| c.name == name) {
            let known = &self.figures.contenders[place];
            let same = known.os == os && known.driver == driver && known.filesystem == filesystem;
            return match same {
                true => Ok(place),
                false => Err(format!("`{name}` has another driver or system in an earlier row")),
            };
        }
        let named = self.of.filesystems.iter().find(|n| n.name.text == name);
        let catalog = match (named.map(|named| named.means.as_str()), variant) {
            (Some("none"), _) | (None, Some(_)) => None,
            (Some(other), _) => Some(other.to_owned()),
            (None, None) => Some(filesystem.to_owned()),
        };
        self.figures.contenders.push(StudyContender {
            name: name.to_owned(),
            filesystem: filesystem.to_owned(),
            version: version.to_owned(),
            os: os.to_owned(),
            driver: driver.to_owned(),
            catalog,
        });
        Ok(self.figures.contenders.len() - 1)
    }

    /// Returns the index of a figure, and adds it with its first row.
    fn figure(&mut self, figure: FigureSpec) -> Result<usize, String> {
        let path = figure.path();
        let Some(place) = self.figures.index_of(&path) else {
            self.figures.figures.push(figure);
            return Ok(self.figures.figures.len() - 1);
        };
        let unit = &mut self.figures.figures[place].unit;
        if unit.is_empty() {
            unit.clone_from(&figure.unit);
        }
        let sizes = [unit.as_str(), &figure.unit].map(|unit| SIZES.contains(&unit));
        match figure.unit.is_empty() || *unit == figure.unit || sizes == [true, true] {
            true => Ok(place),
            false => {
                Err(format!("`unit` is `{}`; {path} is in {unit} in an earlier row", figure.unit))
            }
        }
    }

    fn direction(&self, metric: &str) -> Direction {
        let mut own = self.of.better.iter();
        match own.find(|named| named.name.text == metric) {
            Some(named) if named.means == "higher" => Direction::Higher,
            Some(_) => Direction::Lower,
            None => known_metric(metric).map_or(Direction::Neutral, Metric::direction),
        }
    }

    fn put_bounds(&mut self) -> Result<(), Wrong> {
        for bound in &self.bounds {
            let place = self.figures.index_of(&bound.figure);
            let key = place.map(|figure| (bound.contender, figure));
            let cell = key.and_then(|key| self.figures.cells.get_mut(&key));
            let cell = cell.filter(|cell| cell.value.is_none()).ok_or_else(|| {
                let message =
                    format!("a bound belongs to a row of {} that is `missing`", bound.figure);
                (bound.line, message)
            })?;
            let (low, high) = cell.range.unwrap_or((0.0, f64::INFINITY));
            let range = match bound.is_upper {
                true => (low, bound.value),
                false => (bound.value, high),
            };
            if range.0 > range.1 {
                return Err((bound.line, "the bounds of a range are swapped".to_owned()));
            }
            cell.range = Some(range);
        }
        Ok(())
    }
}

fn number(printed: &str) -> Result<Option<f64>, String> {
    if printed.is_empty() {
        return Ok(None);
    }
    let number: Option<f64> = printed.parse().ok();
    let number = number.filter(|n| n.is_finite() && *n >= 0.0);
    let wrong = || format!("`value` is `{printed}`; expected a number that is not negative");
    number.map(Some).ok_or_else(wrong)
}
