//! A Skiff cluster for all tests of this file, and for each test a namespace with an operator.

use std::{
    os::unix::process::parent_id,
    process::{Command, Stdio, id},
    time::Duration,
};

use k8s_openapi::{
    api::core::v1::Namespace,
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
};
use kube::{
    Api, Client, Config, CustomResourceExt, Resource, ResourceExt,
    api::{DeleteParams, PostParams},
    config::{KubeConfigOptions, Kubeconfig},
    runtime::{conditions, wait},
};
use serde::de::DeserializeOwned;
use site_operator::Site;
use tokio::{sync::OnceCell, time::timeout};

/// The administrator's kubeconfig. Clients are not shared: each belongs to the runtime of its test.
static CLUSTER: OnceCell<Kubeconfig> = OnceCell::const_new();

async fn start() -> Kubeconfig {
    end_with_parent();
    let pid = id();
    // There is no hook at the end of a test program: the cluster goes with this process, however that ends.
    let words = format!(
        "kube-skiff up --name cargo-{pid} --parent {pid} --ttl 10m --port 0 --nodes 1 --output json"
    );
    let up = Command::new("npx")
        .args(words.split(' '))
        .stderr(Stdio::inherit())
        .output()
        .expect("npx is in PATH");
    assert!(up.status.success(), "npx kube-skiff up: {}", up.status);
    let answer: serde_json::Value = serde_json::from_slice(&up.stdout).expect("JSON");
    let path = answer["kubeconfig"].as_str().expect("a path");
    let kubeconfig = Kubeconfig::read_from(path).expect("a kubeconfig");
    define(client_of(&kubeconfig).await).await;
    kubeconfig
}

/// A killed cargo leaves its test programs running, and a running test program keeps its cluster.
fn end_with_parent() {
    let parent = parent_id();
    std::thread::spawn(move || {
        while parent_id() == parent {
            std::thread::sleep(Duration::from_millis(250));
        }
        std::process::exit(1);
    });
}

async fn client_of(kubeconfig: &Kubeconfig) -> Client {
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig.clone(), &options).await;
    Client::try_from(config.expect("a valid kubeconfig")).expect("a client")
}

async fn define(client: Client) {
    let definitions = Api::<CustomResourceDefinition>::all(client);
    definitions
        .create(&PostParams::default(), &Site::crd())
        .await
        .expect("a definition");
    eventually(
        &definitions,
        Site::crd_name(),
        conditions::is_crd_established(),
    )
    .await;
}

/// Runs a test in a namespace of its own, with an operator there. The namespace goes after it, unless the test panics.
pub async fn in_namespace(test: impl AsyncFnOnce(Client, &str)) {
    let client = client_of(CLUSTER.get_or_init(start).await).await;
    let namespaces = Api::<Namespace>::all(client.clone());
    let mut namespace = Namespace::default();
    namespace.metadata.generate_name = Some("test-".into());
    let namespace = namespaces
        .create(&PostParams::default(), &namespace)
        .await
        .expect("a namespace");
    let name = namespace.name_any();
    tokio::select! {
        _ = site_operator::run(client.clone(), Some(&name)) => panic!("the operator ended"),
        _ = async {
            test(client.clone(), &name).await;
            namespaces.delete(&name, &DeleteParams::default()).await.expect("the namespace");
            let uid = namespace.uid().unwrap_or_default();
            eventually(&namespaces, &name, conditions::is_deleted(&uid)).await;
        } => {}
    }
}

/// The object as soon as the condition holds for it; panics after 20 s with what it was then.
pub async fn eventually<K>(
    api: &Api<K>,
    name: &str,
    condition: impl wait::Condition<K>,
) -> Option<K>
where
    K: Clone + std::fmt::Debug + Send + DeserializeOwned + Resource + 'static,
{
    match timeout(
        Duration::from_secs(20),
        wait::await_condition(api.clone(), name, condition),
    )
    .await
    {
        Ok(met) => met.expect("a watch"),
        Err(_) => panic!("not met within 20 s by {:?}", api.get_opt(name).await),
    }
}
