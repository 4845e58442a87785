//! The words of the Agent2Agent protocol, versions 0.3 and 1.0: pure translation between their JSON and one model.
//!
//! A call names its version by its method ([`Operation::of_method`]) and then by its header ([`Version::named`]); what it
//! carries becomes a [`Message`], and a [`Task`] or an [`Update`] goes back in the version that was asked for. Numbers stay
//! what they were: nothing here goes through protobuf, whose only number is a double.
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice,
        clippy::unreachable
    )
)]

mod codec;
pub mod desk;
mod fault;
mod fields;
mod hitl;
mod model;
mod names;
pub mod old_http;
pub mod pause;
mod push;
mod rpc;
mod seen;
mod send;
mod version;

pub use fault::Fault;
pub use model::{Artifact, Content, Message, Part, Role, Status, Task, TaskState, Update};
pub use names::one_name;
pub use push::{PushConfig, PushName, SetPush};
pub use rpc::{Call, answer, refusal};
pub use seen::{AgentResult, AgentTask, remark};
pub use send::{ListTasks, Send, TaskName};
pub use version::{Operation, Version};
