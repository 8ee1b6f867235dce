//! A declared body is read, described and turned into flags.

use serde_json::json;
use utoipa::PartialSchema;

use super::*;
use crate::input::cursor::{Fault, Faults};
use crate::input::json;

mod declared {
    use super::super::{List, OneOf, Stated, bare_or, count, number, plain, section, value};

    const SIZES: &[(&str, u32)] = &[("small", 1), ("large", 2)];

    crate::input::body::body! {
        /// A request.
        pub(super) struct Request {
            /// The machine.
            machine: Machine = bare_or::<Machine, _>("name", OneOf(SIZES)),
            /// The load.
            load: Load = section::<Load>(),
        }

        /// A machine.
        pub(super) struct Machine {
            /// Size of the machine.
            name: Stated<u32> = value(OneOf(SIZES)).flag("size"),
        }

        /// A load.
        #[at_least(1)]
        #[check(fits(batch, most))]
        pub(super) struct Load {
            /// The batch.
            batch: Stated<f64> = number(0.5..=9.0).unit("sequences").or(2.0).flag("batch"),
            /// The largest batch.
            most: u32 = plain(count(1..=9)),
            /// Steps.
            steps: Stated<Vec<u32>> = value(List::of(1..=3, 1..=2).rising()),
        }
    }

    fn fits(object: super::super::Source<'_, '_>, batch: Option<&Stated<f64>>, most: Option<&u32>) {
        if let (Some(Ok(Some(batch))), Some(most)) = (batch.map(|batch| batch.value), most)
            && batch > f64::from(*most)
        {
            object.fault_of("batch", "too large", "state less");
        }
    }
}

use declared::{Load, Request};

fn read<T: Body>(text: &str) -> Result<T, Vec<Fault>> {
    let tree = json::parse(text.as_bytes()).unwrap();
    let faults = Faults::default();
    let body = T::read(&Cursor::root(&tree, &faults));
    faults.result(body)
}

fn pointers<T: Body>(text: &str) -> Vec<String> {
    let faults = read::<T>(text).err().unwrap();
    faults.into_iter().map(|fault| fault.pointer).collect()
}

#[test]
fn a_section_that_is_left_out_states_nothing() {
    let request = read::<Request>(r#"{"load": {"most": 4}}"#).unwrap();
    assert!(!request.machine.name.is_stated() && !request.load.batch.is_stated());
    assert_eq!(request.load.batch.default, Some(2.0));
    assert_eq!(request.load.batch.name, "load.batch");
    assert_eq!(
        (request.load.most, request.load.steps.is_stated()),
        (4, false)
    );
}

#[test]
fn an_object_may_be_written_as_its_name() {
    for text in [
        r#"{"machine": "large", "load": {"most": 4}}"#,
        r#"{"machine": {"name": "large"}, "load": {"most": 4}}"#,
    ] {
        let name = read::<Request>(text).unwrap().machine.name;
        assert_eq!(name.value, Ok(Some(2)), "{text}");
    }
}

#[test]
fn every_fault_is_recorded_where_it_is() {
    let text = r#"{"machine": "huge", "load": {"batch": 0.4, "most": 10, "steps": [1, 5], "x": 1}, "y": 1}"#;
    let expected = [
        "/machine",
        "/load/batch",
        "/load/most",
        "/load/steps/1",
        "/load/x",
        "/y",
    ];
    assert_eq!(pointers::<Request>(text), expected);
    assert_eq!(pointers::<Request>(r#"{"load": {"batch": 1}}"#), ["/load"]);
    assert_eq!(pointers::<Load>("{}"), ["", ""]);
    for steps in ["[2, 1]", "[]", "[1, 2, 3]"] {
        let text = format!(r#"{{"most": 1, "steps": {steps}}}"#);
        assert_eq!(pointers::<Load>(&text), ["/steps"], "{steps}");
    }
}

#[test]
fn fields_that_belong_together_are_checked_beside_other_faults() {
    let text = r#"{"batch": 3, "most": 2, "steps": 5}"#;
    assert_eq!(pointers::<Load>(text), ["/steps", "/batch"]);
}

#[test]
fn the_schema_and_the_flags_are_those_of_the_declaration() {
    let schema = serde_json::to_value(Load::schema()).unwrap();
    assert_eq!(schema["required"], json!(["most"]));
    assert_eq!(schema["minProperties"], 1);
    assert_eq!(
        schema["properties"]["batch"],
        json!({"type": "number", "format": "double", "description": "The batch.", "default": 2, "minimum": 0.5, "maximum": 9})
    );
    let flags = flags::<Request>();
    let flags: Vec<_> = flags
        .iter()
        .map(|flag| (flag.name, flag.pointer.as_str()))
        .collect();
    assert_eq!(flags, [("size", "/machine/name"), ("batch", "/load/batch")]);
}
