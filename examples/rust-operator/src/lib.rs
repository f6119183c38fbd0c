//! Keeps a Deployment for each Site, and lists it in the ConfigMap `sites` of its namespace.
//!
//! The ConfigMap belongs to no Site, so that no garbage collector can keep it: a finalizer takes a Site out of it.

use std::{sync::Arc, time::Duration};

use futures::StreamExt;
use k8s_openapi::{
    api::{apps::v1::Deployment, core::v1::ConfigMap},
    apimachinery::pkg::apis::meta::v1::{Condition, Time},
    jiff::Timestamp,
};
use kube::{
    Api, Client, CustomResource, Resource, ResourceExt,
    api::{Patch, PatchParams},
    runtime::{
        Controller,
        controller::Action,
        finalizer::{self, Event, finalizer},
        watcher,
    },
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// What a user wants.
#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(
    group = "web.example.com",
    version = "v1",
    kind = "Site",
    namespaced,
    status = "SiteStatus"
)]
pub struct SiteSpec {
    /// The image that serves the site.
    #[schemars(length(min = 1))]
    pub image: String,
    /// How many pods serve it.
    #[serde(default = "one")]
    #[schemars(range(min = 0))]
    pub replicas: i32,
}

/// What there is.
#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SiteStatus {
    /// How many pods serve the site now.
    pub ready_replicas: Option<i32>,
    /// Available, and if not, why.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

/// The ConfigMap of a namespace that lists its Sites.
pub const DIRECTORY: &str = "sites";
const FINALIZER: &str = "web.example.com/directory";
const LABEL: &str = "web.example.com/site";
const MANAGER: &str = "site-operator";

type Error = finalizer::Error<kube::Error>;

fn one() -> i32 {
    1
}

/// Runs until it is dropped: in one namespace, or in all.
pub async fn run(client: Client, namespace: Option<&str>) {
    let (sites, deployments) = match namespace {
        Some(name) => (
            Api::<Site>::namespaced(client.clone(), name),
            Api::<Deployment>::namespaced(client.clone(), name),
        ),
        None => (Api::all(client.clone()), Api::all(client.clone())),
    };
    Controller::new(sites, watcher::Config::default())
        .owns(deployments, watcher::Config::default().labels(LABEL))
        .run(reconcile, retry, Arc::new(client))
        .for_each(async |result| {
            if let Err(error) = result {
                eprintln!("{error}");
            }
        })
        .await;
}

async fn reconcile(site: Arc<Site>, client: Arc<Client>) -> Result<Action, Error> {
    let namespace = site.namespace().unwrap_or_default();
    let sites = Api::<Site>::namespaced((*client).clone(), &namespace);
    finalizer(&sites, FINALIZER, site, async |event| match event {
        Event::Apply(site) => serve(&site, &client, &namespace).await,
        Event::Cleanup(site) => leave(&site, &client, &namespace).await,
    })
    .await
}

fn retry(_: Arc<Site>, _: &Error, _: Arc<Client>) -> Action {
    Action::requeue(Duration::from_secs(1))
}

/// Brings the cluster to what the Site asks for, and the Site's status to what there is.
async fn serve(site: &Site, client: &Client, namespace: &str) -> Result<Action, kube::Error> {
    if let Some(fault) = fault_of(&site.spec.image) {
        report(
            site,
            client,
            namespace,
            ("False", "InvalidImage", fault),
            None,
        )
        .await?;
        return Ok(Action::await_change());
    }
    let name = site.name_any();
    let directory = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": { "name": DIRECTORY },
        "data": { &name: site.spec.image },
    });
    // Each Site applies its own key alone.
    let entry = PatchParams::apply(&format!("site-{name}")).force();
    Api::<ConfigMap>::namespaced(client.clone(), namespace)
        .patch(DIRECTORY, &entry, &Patch::Apply(directory))
        .await?;
    let deployment = Api::<Deployment>::namespaced(client.clone(), namespace)
        .patch(
            &name,
            &PatchParams::apply(MANAGER).force(),
            &Patch::Apply(deployment_of(site)),
        )
        .await?;
    let ready = deployment
        .status
        .and_then(|status| status.ready_replicas)
        .unwrap_or(0);
    let wanted = site.spec.replicas;
    let (status, reason) = if ready >= wanted {
        ("True", "Ready")
    } else {
        ("False", "Starting")
    };
    let message = format!("{ready} of {wanted} pods are ready");
    report(
        site,
        client,
        namespace,
        (status, reason, message),
        Some(ready),
    )
    .await?;
    Ok(Action::await_change())
}

/// Takes the Site out of the directory. Its Deployment is the garbage collector's.
async fn leave(site: &Site, client: &Client, namespace: &str) -> Result<Action, kube::Error> {
    let without = json!({ "data": { site.name_any(): null } });
    let left = Api::<ConfigMap>::namespaced(client.clone(), namespace)
        .patch(DIRECTORY, &PatchParams::default(), &Patch::Merge(without))
        .await;
    match left {
        // It was never listed, or its namespace goes.
        Err(kube::Error::Api(status)) if status.is_not_found() => {}
        other => drop(other?),
    }
    Ok(Action::await_change())
}

/// Writes the status. The API server makes a no-op of what has not changed.
async fn report(
    site: &Site,
    client: &Client,
    namespace: &str,
    (status, reason, message): (&str, &str, String),
    ready_replicas: Option<i32>,
) -> Result<(), kube::Error> {
    let mut before = site.status.iter().flat_map(|status| &status.conditions);
    let same = before.find(|one| one.status == status);
    let since = same.map(|one| one.last_transition_time.clone());
    let available = Condition {
        type_: "Available".into(),
        status: status.into(),
        reason: reason.into(),
        message,
        observed_generation: site.metadata.generation,
        last_transition_time: since.unwrap_or_else(|| Time(Timestamp::now())),
    };
    let new = SiteStatus {
        ready_replicas,
        conditions: vec![available],
    };
    Api::<Site>::namespaced(client.clone(), namespace)
        .patch_status(
            &site.name_any(),
            &PatchParams::default(),
            &Patch::Merge(json!({ "status": new })),
        )
        .await?;
    Ok(())
}

/// What is wrong with an image that the schema accepts.
fn fault_of(image: &str) -> Option<String> {
    let name = image.rsplit('/').next().unwrap_or(image);
    if name.contains(':') {
        return None;
    }
    Some(format!(
        "spec.image \"{image}\" has no tag: name a version, such as {image}:1.29"
    ))
}

fn deployment_of(site: &Site) -> serde_json::Value {
    let labels = json!({ LABEL: site.name_any() });
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {
            "name": site.name_any(),
            "labels": labels,
            "ownerReferences": [site.controller_owner_ref(&())],
        },
        "spec": {
            "replicas": site.spec.replicas,
            "selector": { "matchLabels": labels },
            "template": {
                "metadata": { "labels": labels },
                "spec": { "containers": [{ "name": "web", "image": site.spec.image }] },
            },
        },
    })
}
