//! Commands that pages show, pasted into a shell while names are hostile: the arguments arrive, and nothing else runs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use unroof_base::shell::{curl, word};

use crate::support::{Api, TestDatabase, sheet, with};

/// Names that run a command where a shell reads them unquoted, or in quotes that they end.
const HOSTILE: [&str; 9] = [
    "$(touch owned)",
    "`touch owned`",
    "'; touch owned; '",
    "\"; touch owned; \"",
    "' \"$(touch owned)\" '",
    "a & touch owned & b | touch owned",
    "\\'; touch owned #",
    "!! > owned ~ * ${HOME} \\",
    "<a href=x>it's 5 % of $UNROOF</a>",
];

/// Folder with a `curl` and an `unroof` that note their arguments.
struct Shell(tempfile::TempDir);

impl Shell {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("programs")).unwrap();
        fs::create_dir(folder.path().join("here")).unwrap();
        for program in ["curl", "unroof"] {
            let file = folder.path().join("programs").join(program);
            let script =
                "#!/bin/sh\nfor argument; do printf '%s\\0' \"$argument\"; done > \"$ARGUMENTS\"\n";
            fs::write(&file, script).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        Self(folder)
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// The arguments with which a command runs its program. It writes no file.
    fn arguments(&self, command: &str) -> Vec<String> {
        let programs = self.path("programs");
        let run = Command::new("sh")
            .args(["-c", command])
            .current_dir(self.path("here"))
            .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
            .env("UNROOF", "http://service")
            .env("ARGUMENTS", self.path("arguments"))
            .output()
            .unwrap();
        assert!(run.status.success(), "{command}: {run:?}");
        assert!(
            run.stdout.is_empty() && run.stderr.is_empty(),
            "{command}: {run:?}"
        );
        assert!(is_empty(&self.path("here")), "{command}");
        let noted = fs::read_to_string(self.path("arguments")).unwrap();
        noted.split_terminator('\0').map(str::to_owned).collect()
    }
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).unwrap().next().is_none()
}

/// Every command in a page: the whole text of a `code` that begins with a program.
fn commands(page: &str) -> Vec<String> {
    let texts = page.split("<code>").skip(1);
    let texts = texts.filter_map(|rest| Some(rest.split_once("</code>")?.0));
    let plain = |text: &str| {
        let signs = [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&quot;", "\""),
            ("&#39;", "'"),
            ("&amp;", "&"),
        ];
        signs.iter().fold(text.to_owned(), |text, (escaped, sign)| {
            text.replace(escaped, sign)
        })
    };
    let texts = texts.map(plain);
    texts
        .filter(|text| text.starts_with("curl ") || text.starts_with("unroof "))
        .collect()
}

/// A text as a part of a path or a query.
fn encoded(text: &str) -> String {
    let part: String = url::form_urlencoded::byte_serialize(text.as_bytes()).collect();
    part.replace('+', "%20")
}

#[test]
fn every_word_and_every_request_arrives_in_a_shell_unchanged() {
    let shell = Shell::new();
    for name in HOSTILE.into_iter().chain(["", "plain", "two\nlines", "é"]) {
        let arguments = shell.arguments(&format!("unroof show {}", word(name)));
        assert_eq!(arguments, ["show", name]);
        let body = json!({ "model": name }).to_string();
        let arguments = shell.arguments(&curl(&format!("/plan?{name}"), Some(&body)));
        assert_eq!(
            arguments,
            [&format!("http://service/plan?{name}"), "--json", &body]
        );
    }
    // What a terminal would interpret is escaped, and means the same.
    let body = json!({"model": "\u{9b}31m\u{202e}"}).to_string();
    let arguments = shell.arguments(&curl("/plan", Some(&body)));
    assert!(arguments[2].is_ascii());
    assert_eq!(
        serde_json::from_str::<Value>(&arguments[2]).unwrap()["model"],
        "\u{9b}31m\u{202e}"
    );
}

async fn page(api: &Api, path: &str) -> Vec<String> {
    let reply = api.get(path).await;
    commands(reply.text())
}

#[tokio::test]
async fn every_command_of_every_page_with_hostile_names_runs_only_itself() {
    let database = TestDatabase::sqlite();
    let api = database.api().await;
    let shell = Shell::new();
    for name in HOSTILE {
        let hostile = with(
            with(sheet(), "/model", json!(name)),
            "/provider",
            json!(name),
        );
        let hostile = with(hostile, "/canonical_model", json!(format!("acme/{name}")));
        let stored = api.post("/infer?observe=true", hostile.to_string()).await;
        assert_eq!(stored.status, 201, "{}", stored.text());
        let id = stored.id();
        let (part, canonical) = (encoded(name), encoded(&format!("acme/{name}")));
        let mut shown = 0;
        for path in [
            "/ui/".to_owned(),
            format!("/ui/?q={part}&provider={part}"),
            format!("/ui/models/acme/{part}"),
            format!("/ui/offers/{part}/{part}"),
            format!("/estimates/{id}"),
            format!("/ui/changes?provider={part}&model={part}&canonical_model={canonical}"),
            format!("/ui/compare?model={canonical}&model={canonical}"),
            format!("/ui/try?provider={part}&offer={part}"),
            format!(
                "/ui/plan?view=cost&provider={part}&offer={part}&input=1000&cached=0&output=100"
            ),
            format!("/ui/plan?view=machine&model={part}"),
            format!("/ui/plan?view=machine&model={canonical}"),
            format!("/ui/plan?view=fleet&model={part}"),
            format!("/ui/plan?view=layout&model={part}"),
            format!("/ui/plan?view=training&model={part}"),
            "/ui/truth".to_owned(),
            "/ui/catalogs".to_owned(),
            "/docs/".to_owned(),
        ] {
            for command in page(&api, &path).await {
                let arguments = shell.arguments(&command);
                shown += usize::from(arguments.iter().any(|argument| argument.contains(name)));
                let json = arguments.iter().position(|argument| argument == "--json");
                if let Some(body) = json
                    .and_then(|place| arguments.get(place + 1))
                    .filter(|body| !body.starts_with('@'))
                {
                    let body: Value = serde_json::from_str(body)
                        .unwrap_or_else(|error| panic!("{path}: {error}: {body}"));
                    shown += usize::from(body.to_string().contains(&json!(name).to_string()));
                }
            }
        }
        assert!(shown > 0, "no command holds {name}");
    }
}
