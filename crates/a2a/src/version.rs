//! Which version of the protocol a call speaks, and what it wants.

use crate::Fault;

/// A version of the protocol. Patches do not count: they change no shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Version {
    /// 0.3: `kind` on every object, states in kebab case.
    V03,
    /// 1.0: the JSON of protocol buffers.
    V10,
}

/// What a call wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Send a message and get the task or a message back.
    Send,
    /// Send a message and follow what becomes of it.
    Stream,
    /// Read one task.
    Get,
    /// List the caller's tasks.
    List,
    /// Withdraw a task.
    Cancel,
    /// Follow a task that is there already.
    Subscribe,
    /// Have news of a task posted to an address.
    PushSet,
    /// Read one such wish.
    PushGet,
    /// List such wishes.
    PushList,
    /// Take one back.
    PushDelete,
    /// Read the card meant for callers who have shown who they are.
    Card,
}

impl Version {
    /// The version a header names. None and an empty one mean 0.3, as 1.0 demands.
    pub fn named(header: Option<&str>) -> Result<Self, Fault> {
        let text = header.map_or("", str::trim);
        let mut parts = text.split('.');
        match (text, parts.next(), parts.next()) {
            ("", ..) | (_, Some("0"), Some("3")) => Ok(Self::V03),
            (_, Some("1"), None | Some("0")) => Ok(Self::V10),
            _ => Err(Fault::VersionNotSupported(text.chars().take(40).collect())),
        }
    }

    /// As headers and cards spell it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V03 => "0.3",
            Self::V10 => "1.0",
        }
    }
}

/// The methods of JSON-RPC by the name each version gives them. The list of 0.3 is our own: that version has one only elsewhere.
const METHODS: [(Operation, &str, &str); 11] = [
    (Operation::Send, "message/send", "SendMessage"),
    (Operation::Stream, "message/stream", "SendStreamingMessage"),
    (Operation::Get, "tasks/get", "GetTask"),
    (Operation::List, "tasks/list", "ListTasks"),
    (Operation::Cancel, "tasks/cancel", "CancelTask"),
    (Operation::Subscribe, "tasks/resubscribe", "SubscribeToTask"),
    (Operation::PushSet, "tasks/pushNotificationConfig/set", "CreateTaskPushNotificationConfig"),
    (Operation::PushGet, "tasks/pushNotificationConfig/get", "GetTaskPushNotificationConfig"),
    (Operation::PushList, "tasks/pushNotificationConfig/list", "ListTaskPushNotificationConfigs"),
    (Operation::PushDelete, "tasks/pushNotificationConfig/delete", "DeleteTaskPushNotificationConfig"),
    (Operation::Card, "agent/getAuthenticatedExtendedCard", "GetExtendedAgentCard"),
];

impl Operation {
    /// The operation a method of JSON-RPC names, and the version that names it so.
    #[must_use]
    pub fn of_method(name: &str) -> Option<(Self, Version)> {
        METHODS.iter().find_map(|(operation, old, new)| {
            if *old == name {
                Some((*operation, Version::V03))
            } else {
                (*new == name).then_some((*operation, Version::V10))
            }
        })
    }

    /// The method of JSON-RPC that a version names the operation by.
    #[must_use]
    pub fn method(self, version: Version) -> &'static str {
        let found = METHODS.iter().find(|(operation, ..)| *operation == self);
        found.map_or("", |(_, old, new)| if version == Version::V03 { old } else { new })
    }

    /// The operation of a call and its version: by the method's name, then by the header, which must agree.
    pub fn dispatch(method: &str, header: Option<&str>) -> Result<(Self, Version), Fault> {
        let said = Version::named(header)?;
        let Some((operation, version)) = Self::of_method(method) else {
            return Err(Fault::MethodNotFound(method.chars().take(80).collect()));
        };
        if said != version {
            let told =
                if header.is_some_and(|header| !header.trim().is_empty()) { said.as_str() } else { "none" };
            return Err(Fault::VersionNotSupported(format!(
                "{told} with the method {method}, which is of {}",
                version.as_str()
            )));
        }
        Ok((operation, version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_header_and_an_empty_one_mean_0_3() {
        assert_eq!(Version::named(None), Ok(Version::V03));
        assert_eq!(Version::named(Some(" ")), Ok(Version::V03));
    }

    #[test]
    fn only_major_and_minor_count() {
        for (header, version) in [
            ("0.3", Version::V03),
            ("0.3.0", Version::V03),
            ("1.0", Version::V10),
            ("1.0.1", Version::V10),
            ("1", Version::V10),
        ] {
            assert_eq!(Version::named(Some(header)), Ok(version), "{header}");
        }
    }

    #[test]
    fn an_unknown_version_is_refused_and_never_guessed() {
        for header in ["0.2", "2.0", "1.1", "99", "one", "10", "1.00", "0.30", "-1"] {
            assert!(matches!(Version::named(Some(header)), Err(Fault::VersionNotSupported(_))), "{header}");
        }
    }

    #[test]
    fn the_name_of_the_method_says_the_version_and_the_header_must_agree() {
        assert_eq!(Operation::dispatch("SendMessage", Some("1.0")), Ok((Operation::Send, Version::V10)));
        assert_eq!(Operation::dispatch("message/send", None), Ok((Operation::Send, Version::V03)));
        assert!(matches!(Operation::dispatch("SendMessage", None), Err(Fault::VersionNotSupported(_))));
        assert!(matches!(
            Operation::dispatch("message/send", Some("1.0")),
            Err(Fault::VersionNotSupported(_))
        ));
        assert!(matches!(Operation::dispatch("sendMessage", Some("1.0")), Err(Fault::MethodNotFound(_))));
    }

    #[test]
    fn every_method_is_found_by_its_own_name_only() {
        for (operation, old, new) in METHODS {
            assert_eq!(Operation::of_method(new), Some((operation, Version::V10)));
            assert_eq!(Operation::of_method(old), Some((operation, Version::V03)));
            assert_eq!((operation.method(Version::V03), operation.method(Version::V10)), (old, new));
        }
    }
}
