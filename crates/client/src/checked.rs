//! Before anything runs: the permit that was claimed is for the very call that was asked for.

use placet_core::{Create, Record};
use placet_ledger::{Granted, Unfit, Wanted, check_permit};
use serde_json::Map;

use crate::{Claimed, Client, Error, Report};

impl Client {
    /// Takes the permit of an approved action and checks it against what was asked for: the same tool and arguments, a
    /// decision in favour, and digests that fit. A permit that does not fit is reported as failed and not returned.
    pub async fn claim_for(&self, create: &Create, record: &Record) -> Result<Claimed, Error> {
        let claimed = self.claim(record.id).await?;
        self.checked(record, Some(create), &claimed).await?;
        Ok(claimed)
    }

    /// Checks a permit. One that does not fit is given back as failed, because nothing will run.
    pub(crate) async fn checked(
        &self,
        record: &Record,
        create: Option<&Create>,
        claimed: &Claimed,
    ) -> Result<(), Error> {
        let Err(unfit) = fits(record, create, claimed) else { return Ok(()) };
        let reason = format!("the permit of {} cannot be used: {unfit}", record.id);
        // That the report may fail too changes nothing for the caller: nothing was run.
        let _ = self.report(record.id, &claimed.permit, &Report::failed(reason.clone())).await;
        Err(self.protocol(&reason))
    }
}

fn fits(record: &Record, create: Option<&Create>, claimed: &Claimed) -> Result<(), Unfit> {
    let none = Map::new();
    let wanted = create.map(|create| Wanted {
        tool: create.tool.as_deref().unwrap_or_default(),
        arguments: create.arguments.as_ref().unwrap_or(&none),
    });
    let granted = Granted {
        permit: claimed.permit.reveal(),
        arguments: &claimed.arguments,
        digest: Some(claimed.digest),
        confined: false,
    };
    check_permit(record, wanted.as_ref(), &granted).map(drop)
}
