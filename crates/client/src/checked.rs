//! Checks, before anything runs, that the claimed permit is for the very call that was asked for.

use placet_core::{Create, Record};
use placet_ledger::{ClaimAnswer, IntendedCall, PermitMismatch, check_permit};
use serde_json::Map;

use crate::{ClaimedPermit, Client, Error, Report};

impl Client {
    /// Claims the permit of an approved action and checks it: the same tool and arguments, an approving decision, and
    /// digests that fit. A permit that does not fit is reported as failed and not returned.
    pub async fn claim_for(&self, create: &Create, record: &Record) -> Result<ClaimedPermit, Error> {
        let claimed = self.claim(record.id).await?;
        self.checked(record, Some(create), &claimed).await?;
        Ok(claimed)
    }

    /// Checks a permit. One that does not fit is reported as failed, because nothing will run.
    pub(crate) async fn checked(
        &self,
        record: &Record,
        create: Option<&Create>,
        claimed: &ClaimedPermit,
    ) -> Result<(), Error> {
        let Err(unfit) = fits(record, create, claimed) else { return Ok(()) };
        let reason = format!("the permit of {} cannot be used: {unfit}", record.id);
        // If the report fails too, nothing changes for the caller: nothing was run.
        let _ = self.report(record.id, &claimed.permit, &Report::failed(reason.clone())).await;
        Err(self.protocol(&reason))
    }
}

fn fits(record: &Record, create: Option<&Create>, claimed: &ClaimedPermit) -> Result<(), PermitMismatch> {
    let none = Map::new();
    let wanted = create.map(|create| IntendedCall {
        tool: create.tool.as_deref().unwrap_or_default(),
        arguments: create.arguments.as_ref().unwrap_or(&none),
    });
    let granted = ClaimAnswer {
        permit: claimed.permit.reveal(),
        arguments: &claimed.arguments,
        digest: Some(claimed.digest),
        confined: false,
    };
    check_permit(record, wanted.as_ref(), &granted).map(drop)
}
