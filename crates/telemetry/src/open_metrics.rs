//! Metrics in the text format `OpenMetrics`, as the library writes them: families with their samples.

/// A metric with its samples.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Family<'a> {
    pub(super) name: &'a str,
    pub(super) help: &'a str,
    pub(super) kind: &'a str,
    pub(super) samples: Vec<Sample<'a>>,
}

/// A value of a metric.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Sample<'a> {
    /// The end of its name after that of the metric, such as `_total`.
    pub(super) suffix: &'a str,
    pub(super) labels: Vec<(&'a str, String)>,
    pub(super) value: f64,
}

/// Reads metrics. A line that is neither a sample nor part of a description is skipped.
pub(super) fn read(text: &str) -> Vec<Family<'_>> {
    let mut families: Vec<Family> = Vec::new();
    for line in text.lines() {
        let described = line.strip_prefix("# ").and_then(|line| {
            let (what, rest) = line.split_once(' ')?;
            let (name, value) = rest.split_once(' ')?;
            Some((what, name, value))
        });
        match described {
            Some(("HELP", name, help)) => families.push(Family {
                name,
                help,
                ..Family::default()
            }),
            Some(("TYPE", name, kind)) => match families.last_mut() {
                Some(family) if family.name == name => family.kind = kind,
                _ => {}
            },
            _ => {
                if let Some(family) = families.last_mut() {
                    let sample = sample(line, family.name);
                    family.samples.extend(sample);
                }
            }
        }
    }
    families
}

/// A sample of a metric: name, labels, value.
fn sample<'a>(line: &'a str, metric: &str) -> Option<Sample<'a>> {
    let rest = line.strip_prefix(metric)?;
    let (suffix, rest) = rest.split_at(rest.find(['{', ' '])?);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?.parse().ok()?;
    Some(Sample {
        suffix,
        labels,
        value,
    })
}

/// Labels up to the brace that ends them, and the rest of the line.
fn labels(mut rest: &str) -> Option<(Vec<(&str, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.strip_prefix(',').unwrap_or(rest);
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let (value, after) = unquoted(quoted)?;
        labels.push((name, value));
        rest = after;
    }
}

/// A text up to the quote that ends it, and the rest.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut letters = quoted.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(match letters.next()?.1 {
                'n' => '\n',
                letter => letter,
            }),
            letter => value.push(letter),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::metrics::counter::Counter;
    use prometheus_client::metrics::family::Family as Labelled;
    use prometheus_client::metrics::gauge::ConstGauge;
    use prometheus_client::metrics::histogram::Histogram;
    use prometheus_client::registry::Registry;

    use super::*;

    #[test]
    fn what_the_library_writes_is_read() {
        let mut registry = Registry::default();
        let counted = Labelled::<Vec<(String, String)>, Counter>::default();
        let odd = "a \"b\\c\"\n{d}, e=\"f\"";
        let labels = vec![
            ("source".to_owned(), odd.to_owned()),
            ("outcome".to_owned(), String::new()),
        ];
        counted.get_or_create(&labels).inc_by(3);
        registry.register("tried", "Attempts by source", counted);
        registry.register("half", "Half of one", ConstGauge::new(0.5));
        let times = Histogram::new([0.5, 2.0]);
        times.observe(1.0);
        registry.register("took", "Time", times);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();

        let families = read(&text);
        let kinds: Vec<_> = families
            .iter()
            .map(|family| (family.name, family.kind, family.help))
            .collect();
        assert_eq!(
            kinds,
            [
                ("tried", "counter", "Attempts by source."),
                ("half", "gauge", "Half of one."),
                ("took", "histogram", "Time."),
            ]
        );
        let [tried] = families[0].samples.as_slice() else {
            panic!("{text}");
        };
        assert_eq!((tried.suffix, tried.value), ("_total", 3.0));
        assert_eq!(
            tried.labels,
            [("source", odd.to_owned()), ("outcome", String::new())]
        );
        assert_eq!(families[1].samples[0].value.to_string(), "0.5");
        let took: Vec<_> = families[2]
            .samples
            .iter()
            .map(|sample| (sample.suffix, sample.labels.first(), sample.value))
            .collect();
        let bound = |bound: &str| ("le", bound.to_owned());
        assert_eq!(
            took,
            [
                ("_sum", None, 1.0),
                ("_count", None, 1.0),
                ("_bucket", Some(&bound("0.5")), 0.0),
                ("_bucket", Some(&bound("2.0")), 1.0),
                ("_bucket", Some(&bound("+Inf")), 1.0),
            ]
        );
    }

    #[test]
    fn a_broken_line_is_skipped() {
        let text = "# HELP a b\n# TYPE a gauge\na{b=\"c} 1\na{b 1\na x\na\n\na 2\n# EOF\n";
        let families = read(text);
        let values: Vec<f64> = families[0].samples.iter().map(|one| one.value).collect();
        assert_eq!(values, [2.0]);
    }
}
