//! Charts as PNG: the same SVG, drawn by resvg with a built-in font.
//!
//! The font is DejaVu Sans Condensed 2.37, whose licence allows it. With a system font, the same
//! results would give different pictures on different machines, and no text on machines without
//! fonts. It has Latin, Greek, Cyrillic and Arabic letters and every sign of the reports.
//! Characters that it lacks (Chinese, for example) are empty boxes here but are contained in the
//! SVG. Nothing is read from disk or network.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::fontdb::Source;
use resvg::usvg::{Options, Tree};

/// Pixels per SVG unit: sharp on current screens, and in print at a third of the width of a page.
const SCALE: f32 = 2.0;

/// A renderer of charts. Create it once, since reading the font takes longer than drawing.
pub struct Rasterizer {
    options: Options<'static>,
}

impl Default for Rasterizer {
    fn default() -> Self {
        Self::new()
    }
}

impl Rasterizer {
    /// Creates a renderer, and reads the font.
    pub fn new() -> Self {
        let mut options = Options { font_family: "DejaVu Sans".to_owned(), ..Options::default() };
        let fonts = options.fontdb_mut();
        fonts.load_font_source(Source::Binary(Arc::new(dejavu::sans_condensed::regular())));
        fonts.set_sans_serif_family("DejaVu Sans");
        Self { options }
    }

    /// Renders the picture as PNG.
    ///
    /// # Errors
    /// Returns an error with a one-line reason if the text is not SVG or has no size.
    pub fn png(&self, svg: &str) -> Result<Vec<u8>, String> {
        self.png_at(svg, SCALE)
    }

    fn png_at(&self, svg: &str, pixels_per_unit: f32) -> Result<Vec<u8>, String> {
        let tree = Tree::from_str(svg, &self.options).map_err(|e| e.to_string())?;
        let size = tree.size().to_int_size();
        let scaled = size.scale_by(pixels_per_unit).ok_or("a picture without a size")?;
        let mut pixels =
            Pixmap::new(scaled.width(), scaled.height()).ok_or("a picture too large")?;
        let scale = Transform::from_scale(pixels_per_unit, pixels_per_unit);
        resvg::render(&tree, scale, &mut pixels.as_mut());
        pixels.encode_png().map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChartFile, charts};
    use resvg::tiny_skia::Pixmap;
    use stats::{analyse, fixture};

    fn of(results: &model::CampaignResults) -> Vec<ChartFile> {
        charts(results, &analyse(results), &crate::charts::everything())
            .into_iter()
            .map(Result::unwrap)
            .collect()
    }

    /// Counts the pixels of exactly this colour. Blended pixels at edges do not count.
    fn shares(png: &[u8], wanted: [u8; 3]) -> usize {
        let pixels = Pixmap::decode_png(png).unwrap();
        let is =
            |p: &&resvg::tiny_skia::PremultipliedColorU8| [p.red(), p.green(), p.blue()] == wanted;
        pixels.pixels().iter().filter(is).count()
    }

    #[test]
    fn a_chart_has_its_paper_its_bars_and_its_letters() {
        let picture = &of(&fixture::plain())[1];
        let png = Rasterizer::new().png(&picture.svg).unwrap();
        assert_eq!(png[..8], *b"\x89PNG\r\n\x1a\n");
        let pixels = Pixmap::decode_png(&png).unwrap();
        let all = (pixels.width() * pixels.height()) as usize;
        assert_eq!(pixels.width(), 2 * 456, "the chart and its margins, twice");
        assert!(shares(&png, [255, 255, 255]) > all / 2, "paper");
        assert!(shares(&png, [0x2f, 0x8f, 0xc7]) > 500, "the best one's bar");
        assert!(shares(&png, [0x1c, 0x20, 0x26]) > 200, "letters");
    }

    #[test]
    fn without_its_texts_a_chart_has_no_letters() {
        let svg = &of(&fixture::plain())[1].svg;
        let bare = svg.replace("<text", "<desc").replace("</text>", "</desc>");
        let png = Rasterizer::new().png(&bare).unwrap();
        assert_eq!(shares(&png, [0x1c, 0x20, 0x26]), 0);
    }

    #[test]
    fn the_same_results_give_the_same_bytes() {
        let svg = &of(&fixture::plain())[1].svg;
        let [first, second] = [(), ()].map(|()| Rasterizer::new().png(svg).unwrap());
        assert_eq!(first, second);
    }

    #[test]
    fn every_chart_of_hostile_results_can_be_drawn() {
        let rasterizer = Rasterizer::new();
        for file in of(&fixture::hostile()) {
            rasterizer.png_at(&file.svg, 0.2).unwrap();
        }
        assert!(rasterizer.png("no picture").is_err());
    }
}
