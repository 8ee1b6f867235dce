//! Commands about estimates: asked, read, compared.

pub(crate) mod calibration;
pub(crate) mod chart;
pub(crate) mod compare;
pub(crate) mod cost;
pub(crate) mod delete;
pub(crate) mod evidence;
pub(crate) mod infer;
pub(crate) mod margins;
pub(crate) mod models;
pub(crate) mod report;
pub(crate) mod scale;
pub(crate) mod sheets;
pub(crate) mod show;
pub(crate) mod validate;
