//! Takes screenshots of a report: `gallery REPORT.html DIRECTORY`. See docs/gallery.md.

use std::path::Path;
use std::process::ExitCode;

use end_to_end::{Browser, BrowserPage, Viewport};

/// Name of each picture, the part of the page, and the action before taking it.
const PARTS: [(&str, &str, &str); 9] = [
    ("verdict", "header", ""),
    ("uses", "#uses", ""),
    ("overview", "#overview", ""),
    ("features", "#features", ""),
    ("phase", "article[data-phase]", ""),
    (
        "latency",
        "article[data-phase]:has([role=tab]:nth-child(4))",
        "node.querySelectorAll('[role=tab]')[1].click()",
    ),
    (
        "processor",
        "article[data-phase]:has([role=tab]:nth-child(4))",
        "node.querySelectorAll('[role=tab]')[2].click()",
    ),
    ("steps", "figure.card", ""),
    ("sweep", "article[data-sweep]", ""),
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [report, directory] = &arguments[..] else {
        eprintln!("usage: gallery REPORT.html DIRECTORY");
        return ExitCode::from(2);
    };
    match pictures(Path::new(report), Path::new(directory)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gallery: {error}");
            ExitCode::FAILURE
        }
    }
}

fn pictures(report: &Path, directory: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(directory)?;
    let save = |name: &str, bytes: &[u8]| {
        let path = directory.join(name);
        println!("{} ({} bytes)", path.display(), bytes.len());
        std::fs::write(path, bytes)
    };
    let mut browser = Browser::start();
    for (name, view) in
        [("light", Viewport::DESK), ("dark", Viewport::DARK), ("phone", Viewport::PHONE)]
    {
        let mut page = browser.open(report, view);
        println!("{name}: there after {} ms", page.load.as_millis());
        save(&format!("{name}.png"), &page.picture(false))?;
        for (part, selector, action) in PARTS {
            if let Some(picture) = part_of(&mut page, selector, action) {
                save(&format!("{part}-{name}.png"), &picture)?;
            }
        }
    }
    let mut page = browser.open(report, Viewport::DESK);
    save("detail-light.png", &detail(&mut page))?;
    save("print.pdf", &page.print())?;
    Ok(())
}

/// Takes a picture of the part of the page that a selector names. Returns `None` if it does not
/// exist.
fn part_of(page: &mut BrowserPage<'_>, selector: &str, action: &str) -> Option<Vec<u8>> {
    let find = format!(
        "(() => {{ const node = document.querySelector('{selector}'); \
         if (!node || node.hidden) return false; \
         for (let part = node; part; part = part.parentElement) if (part.localName === 'details') part.open = true; \
         for (const fold of node.querySelectorAll('details.fold, details.why')) fold.open = true; \
         node.scrollIntoView({{ behavior: 'instant' }}); \
         {action}; return true; }})()"
    );
    let found = page.run(&find) == true;
    page.settle();
    found.then(|| page.picture_of(selector))
}

/// Takes a screenshot of the dialog for a cell of the overview.
fn detail(page: &mut BrowserPage<'_>) -> Vec<u8> {
    page.run("document.querySelector('#heat tr[data-phase] td[data-c]').click()");
    page.picture(false)
}
