//! The operator on a real API server, with the controllers, the scheduler and the node that make pods of a Deployment.

mod support;

use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api, Client, ResourceExt,
    api::{DeleteParams, Patch, PatchParams, PostParams},
    runtime::conditions::{is_created, is_deleted},
};
use serde_json::json;
use site_operator::{DIRECTORY, Site, SiteSpec};
use support::{eventually, in_namespace};

async fn create(client: &Client, namespace: &str, image: &str) -> kube::Result<Site> {
    let site = Site::new(
        "blog",
        SiteSpec {
            image: image.into(),
            replicas: 2,
        },
    );
    Api::namespaced(client.clone(), namespace)
        .create(&PostParams::default(), &site)
        .await
}

fn image_of(deployment: &Deployment) -> Option<&str> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    pod.containers.first()?.image.as_deref()
}

fn lists(image: &str) -> impl Fn(Option<&ConfigMap>) -> bool {
    move |directory| {
        let entries = directory.and_then(|map| map.data.as_ref());
        entries
            .and_then(|data| data.get("blog"))
            .is_some_and(|listed| listed == image)
    }
}

/// The condition Available has this status and message.
fn says(status: &str, message: &str) -> impl Fn(Option<&Site>) -> bool {
    move |site| {
        let conditions = site
            .and_then(|site| site.status.as_ref())
            .map(|status| &status.conditions);
        let available = conditions.and_then(|all| all.iter().find(|one| one.type_ == "Available"));
        available.is_some_and(|one| one.status == status && one.message == message)
    }
}

#[tokio::test]
async fn a_site_gets_a_deployment_that_it_owns() {
    in_namespace(async |client, namespace| {
        let site = create(&client, namespace, "nginx:1.29").await.unwrap();
        let deployments = Api::<Deployment>::namespaced(client, namespace);
        let deployment = eventually(&deployments, "blog", is_created())
            .await
            .unwrap();
        assert_eq!(image_of(&deployment), Some("nginx:1.29"));
        assert_eq!(deployment.spec.as_ref().unwrap().replicas, Some(2));
        let owner = &deployment.owner_references()[0];
        assert_eq!(
            (owner.kind.as_str(), owner.controller),
            ("Site", Some(true))
        );
        assert_eq!(Some(owner.uid.clone()), site.uid());
    })
    .await;
}

#[tokio::test]
async fn its_status_follows_its_pods() {
    in_namespace(async |client, namespace| {
        create(&client, namespace, "nginx:1.29").await.unwrap();
        let sites = Api::<Site>::namespaced(client, namespace);
        let available = says("True", "2 of 2 pods are ready");
        let site = eventually(&sites, "blog", available).await.unwrap();
        assert_eq!(site.status.unwrap().ready_replicas, Some(2));
    })
    .await;
}

#[tokio::test]
async fn a_new_image_is_rolled_out() {
    in_namespace(async |client, namespace| {
        create(&client, namespace, "nginx:1.29").await.unwrap();
        let deployments = Api::<Deployment>::namespaced(client.clone(), namespace);
        eventually(&deployments, "blog", is_created()).await;
        let newer = Patch::Merge(json!({ "spec": { "image": "nginx:1.30" } }));
        let sites = Api::<Site>::namespaced(client.clone(), namespace);
        sites
            .patch("blog", &PatchParams::default(), &newer)
            .await
            .unwrap();
        eventually(&deployments, "blog", |deployment: Option<&Deployment>| {
            deployment.and_then(image_of) == Some("nginx:1.30")
        })
        .await;
        let directories = Api::<ConfigMap>::namespaced(client, namespace);
        eventually(&directories, DIRECTORY, lists("nginx:1.30")).await;
    })
    .await;
}

#[tokio::test]
async fn a_deployment_that_someone_deletes_is_replaced() {
    in_namespace(async |client, namespace| {
        create(&client, namespace, "nginx:1.29").await.unwrap();
        let deployments = Api::<Deployment>::namespaced(client, namespace);
        let first = eventually(&deployments, "blog", is_created())
            .await
            .unwrap();
        deployments
            .delete("blog", &DeleteParams::default())
            .await
            .unwrap();
        eventually(&deployments, "blog", |deployment: Option<&Deployment>| {
            deployment.is_some_and(|one| one.uid() != first.uid())
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_site_leaves_the_directory_and_takes_its_deployment_with_it() {
    in_namespace(async |client, namespace| {
        let site = create(&client, namespace, "nginx:1.29").await.unwrap();
        let directories = Api::<ConfigMap>::namespaced(client.clone(), namespace);
        eventually(&directories, DIRECTORY, lists("nginx:1.29")).await;
        let deployments = Api::<Deployment>::namespaced(client.clone(), namespace);
        let deployment = eventually(&deployments, "blog", is_created())
            .await
            .unwrap();

        let sites = Api::<Site>::namespaced(client, namespace);
        sites
            .delete("blog", &DeleteParams::default())
            .await
            .unwrap();
        eventually(&sites, "blog", is_deleted(&site.uid().unwrap())).await;
        let directory = directories.get(DIRECTORY).await.unwrap();
        assert_eq!(directory.data.unwrap_or_default().get("blog"), None);
        eventually(&deployments, "blog", is_deleted(&deployment.uid().unwrap())).await;
    })
    .await;
}

#[tokio::test]
async fn an_image_without_a_tag_is_reported() {
    in_namespace(async |client, namespace| {
        create(&client, namespace, "nginx").await.unwrap();
        let sites = Api::<Site>::namespaced(client.clone(), namespace);
        let fault = "spec.image \"nginx\" has no tag: name a version, such as nginx:1.29";
        let site = eventually(&sites, "blog", says("False", fault))
            .await
            .unwrap();
        assert_eq!(site.status.unwrap().conditions[0].reason, "InvalidImage");
        let deployments = Api::<Deployment>::namespaced(client, namespace);
        assert!(deployments.get_opt("blog").await.unwrap().is_none());
    })
    .await;
}

#[tokio::test]
async fn a_site_without_an_image_is_rejected() {
    in_namespace(async |client, namespace| {
        let error = create(&client, namespace, "").await.unwrap_err();
        assert!(error.to_string().contains("spec.image"), "{error}");
    })
    .await;
}
