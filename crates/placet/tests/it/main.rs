//! The program from outside: every test here starts the real binary. One test binary, so that everything is linked once.

mod card;
mod cli;
mod cli_live;
mod community;
mod connect;
mod contract;
mod events;
mod failed_sync;
mod full_disk;
mod group;
mod hooks;
mod listening;
mod owner;
mod policy;
mod program;
mod recover;
mod restoring;
mod shipped;
mod sign_in;
mod stories;
mod telemetry;
mod twins;
mod up;
