//! The same creates on Postgres, with one node and with two.

use anyhow::Result;

use super::Bench;
use super::throughput::{per_second, remark};
use crate::baseline::postgres::{self, Database};
use crate::load::closed::{self, Workload};
use crate::load::on_postgres::PostgresNode;
use crate::report::{Report, Row};

const CLIENTS: usize = 64;

pub(super) async fn creates(bench: &Bench, report: &mut Report) {
    let Some(cluster) = &bench.postgres else {
        report.skip(
            "postgres",
            "set PLACET_BENCH_POSTGRES to the URL of a cluster in which databases may be made",
        );
        return;
    };
    let what = "durable creates on Postgres, 64 clients";
    report.take("postgres", what, rows(bench, cluster, what).await);
}

async fn rows(bench: &Bench, cluster: &str, what: &str) -> Result<Vec<Row>> {
    let (mut raw, mut one, mut two) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..bench.rounds {
        bench.round(round, what);
        let database = Database::make(cluster).await?;
        raw.push(postgres::run(&database.url()?, 64, bench.sizes.pace.measure).await?.per_second);
        database.drop_it().await?;
        one.push(nodes(bench, cluster, 1).await?);
        two.push(nodes(bench, cluster, 2).await?);
    }
    let single = per_second(&one);
    Ok(vec![
        Row::new("postgres", format!("{what}, one node"), "/s", &single)
            .against("/s raw commits of 64", &raw)
            .note(remark(&one)),
        Row::new("postgres", format!("{what}, two nodes"), "/s", &per_second(&two))
            .against("/s one node", &single)
            .note(remark(&two)),
    ])
}

async fn nodes(bench: &Bench, cluster: &str, count: usize) -> Result<closed::Rate> {
    let database = Database::make(cluster).await?;
    let url = database.url()?;
    let first = PostgresNode::first(&bench.bin, &bench.dir, &url)?;
    let mut nodes = vec![first];
    while nodes.len() < count {
        let next = PostgresNode::next(&bench.bin, &bench.dir, &url, nodes[0].target())?;
        nodes.push(next);
    }
    let targets: Vec<_> = nodes.iter().map(|node| node.target().clone()).collect();
    let rate = closed::run(&targets, CLIENTS, Workload::Create { keyed: false }, bench.sizes.pace).await;
    drop(nodes);
    database.drop_it().await?;
    rate
}
