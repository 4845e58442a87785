//! `placet hook`, `placet hook install` and `placet doctor` as agents and people call them: the real program, a real
//! server, and servers that misbehave.

mod blocking;
mod confined;
mod doctor;
mod folder;
mod install;
mod lives;
mod workspace;
mod world;
