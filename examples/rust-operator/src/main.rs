//! Runs the operator; `site-operator crd` prints the definition of Site instead.

use kube::{Client, CustomResourceExt};
use site_operator::{Site, run};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    if std::env::args().nth(1).as_deref() == Some("crd") {
        println!("{}", serde_json::to_string_pretty(&Site::crd())?);
        return Ok(());
    }
    let namespace = std::env::var("WATCH_NAMESPACE").ok();
    run(Client::try_default().await?, namespace.as_deref()).await;
    Ok(())
}
