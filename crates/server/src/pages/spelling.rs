//! Names of models as people write them.

use crate::answers::Answers;
use unroof_price_sheet::catalog::model_key;
use unroof_store::ModelSelection;

/// Models of one author among which another spelling is looked for.
const MOST_MODELS: u32 = 1_000;

/// The canonical name that has other signs between the same words: `anthropic/claude-opus-4.6` is
/// `anthropic/claude-opus-4-6`. None where there is no other, or the store cannot be asked.
pub(super) async fn canonical(answers: &Answers, name: &str) -> Option<String> {
    let (author, model) = name.split_once('/')?;
    if name.contains('\0') {
        return None;
    }
    let selection = ModelSelection {
        author: vec![author.to_owned()],
        ..ModelSelection::default()
    };
    let known = answers
        .store
        .models(&selection, None, MOST_MODELS)
        .await
        .ok()?;
    let key = model_key(model);
    let mut names = known.into_iter().map(|row| row.canonical_model);
    names.find(|other| {
        let other_model = other.split_once('/').map_or("", |(_, model)| model);
        other != name && model_key(other_model) == key
    })
}
