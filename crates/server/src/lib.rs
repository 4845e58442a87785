//! HTTP: the doors through which agents and people come in. A door translates and does nothing else.

mod call;
mod chunks;
mod doors;
mod guard;
mod health;
mod later;
mod limits;
mod listen;
mod listener;
mod openapi;
mod pages;
mod problem;
mod proof;
mod proxies;
mod session;
mod shares;
mod sign_ins;
mod sockets;
mod state;
mod strict;
mod unsent;
mod v1;
mod write_deadline;

pub use doors::a2a::{
    Desk, Generic, Mode, Pause, Problem as AgentProblem, Resumes, RootCard, TaskNews, Upstream, check_agents,
};
pub use doors::events::EventsDoor;
pub use guard::Hosts;
pub use listen::{ListenAddress, ListenError, Listeners, NoAddress};
pub use listener::{Closing, ListenLimits, run};
pub use openapi::document;
pub use proxies::{BadProxies, Proxies, ProxyHeader};
pub use state::{Settings, State, Timing, Unbound, router};
