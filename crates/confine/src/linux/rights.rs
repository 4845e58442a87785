//! Capabilities: those that the setup needs are handed to the first process, which then gives up all.

use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set,
    configure_capability_in_ambient_set, remove_capability_from_bounding_set, set_capabilities,
    set_capabilities_secure_bits, set_no_new_privs,
};

use crate::words::{Doing as _, Problem};

/// Mounts, the loopback, and giving up rights. They count inside the new user namespace only.
const SETUP: [CapabilitySet; 3] =
    [CapabilitySet::SYS_ADMIN, CapabilitySet::NET_ADMIN, CapabilitySet::SETPCAP];

/// Lets the setup's rights survive the next `execve`, also for a user who is not root.
pub(crate) fn hand_on() -> Result<(), Problem> {
    let mut sets = capabilities(None).doing("capabilities cannot be read")?;
    for right in SETUP {
        if !sets.permitted.contains(right) {
            return Err(Problem::Layer(
                "the new user namespace has no rights, which AppArmor or SELinux can be the reason for"
                    .into(),
            ));
        }
        sets.inheritable |= right;
    }
    set_capabilities(None, sets).doing("capabilities cannot be set")?;
    for right in SETUP {
        configure_capability_in_ambient_set(right, true).doing("capabilities cannot be handed on")?;
    }
    Ok(())
}

/// Gives up every right for good: no program started from here on can have one.
pub(crate) fn give_up() -> Result<(), Problem> {
    set_no_new_privs(true).doing("`no_new_privs` cannot be set")?;
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    set_capabilities_secure_bits(bits).doing("the secure bits cannot be set")?;
    for number in 0..64 {
        let right = CapabilitySet::from_bits_retain(1 << number);
        match remove_capability_from_bounding_set(right) {
            Ok(()) => {}
            // The first number that the kernel does not know.
            Err(rustix::io::Errno::INVAL) if number > 30 => break,
            Err(error) => return Err(error).doing("the bounding set cannot be emptied"),
        }
    }
    clear_ambient_capability_set().doing("the ambient set cannot be emptied")?;
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
        .doing("capabilities cannot be given up")
}
