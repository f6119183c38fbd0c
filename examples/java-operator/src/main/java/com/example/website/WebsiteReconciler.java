package com.example.website;

import static io.fabric8.kubernetes.client.dsl.base.PatchType.JSON_MERGE;

import io.fabric8.kubernetes.api.model.Condition;
import io.fabric8.kubernetes.api.model.ConditionBuilder;
import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * Makes the cluster fit one Website: a Deployment, which goes with it, and an entry in the ConfigMap `hosts`, which the garbage
 * collector does not know. A finalizer removes the entry first.
 */
final class WebsiteReconciler {
  static final String LABEL = "example.com/website";
  static final String FINALIZER = "example.com/host";
  static final String HOSTS = "hosts";

  private final KubernetesClient client;

  WebsiteReconciler(KubernetesClient client) {
    this.client = client;
  }

  /** Throws what the client throws, such as KubernetesClientException; the caller tries again. */
  void reconcile(Website website) {
    if (website.isMarkedForDeletion()) {
      finish(website);
      return;
    }
    // Before the entry: a Website that is deleted in between must not leave it behind.
    if (!website.hasFinalizer(FINALIZER)) edit(website, one -> one.addFinalizer(FINALIZER));
    applyHost(website);
    // A bad spec changes nothing: the site goes on as it was.
    var fault = website.getSpec().fault();
    Deployment deployment = fault.isPresent() ? deployment(website).get() : applyDeployment(website);
    report(website, deployment, fault.orElse(null));
  }

  private void finish(Website website) {
    if (!website.hasFinalizer(FINALIZER)) return;
    removeHost(website);
    edit(website, one -> one.removeFinalizer(FINALIZER));
  }

  /** Each Website applies its own key as a field manager of its own. */
  private void applyHost(Website website) {
    String name = website.getMetadata().getName();
    ConfigMap hosts = new ConfigMapBuilder()
        .withNewMetadata().withName(HOSTS).withNamespace(website.getMetadata().getNamespace()).endMetadata()
        .addToData(name, name + ".example.com")
        .build();
    client.resource(hosts).fieldManager("website-" + name).forceConflicts().serverSideApply();
  }

  private void removeHost(Website website) {
    var metadata = website.getMetadata();
    var hosts = client.configMaps().inNamespace(metadata.getNamespace()).withName(HOSTS);
    // With its namespace, the ConfigMap may go before the Website.
    if (hosts.get() == null) return;
    hosts.patch(PatchContext.of(JSON_MERGE), "{\"data\":{\"" + metadata.getName() + "\":null}}");
  }

  private Deployment applyDeployment(Website website) {
    var metadata = website.getMetadata();
    var labels = Map.of(LABEL, metadata.getName());
    Deployment deployment = new DeploymentBuilder()
        .withNewMetadata()
            .withName(metadata.getName()).withNamespace(metadata.getNamespace()).withLabels(labels)
            .addNewOwnerReference()
                .withApiVersion(website.getApiVersion()).withKind(website.getKind())
                .withName(metadata.getName()).withUid(metadata.getUid()).withController(true)
            .endOwnerReference()
        .endMetadata()
        .withNewSpec()
            .withReplicas(website.getSpec().replicas())
            .withNewSelector().withMatchLabels(labels).endSelector()
            .withNewTemplate()
                .withNewMetadata().withLabels(labels).endMetadata()
                .withNewSpec().addNewContainer().withName("web").withImage(website.getSpec().image()).endContainer().endSpec()
            .endTemplate()
        .endSpec()
        .build();
    return client.resource(deployment).fieldManager("website-operator").forceConflicts().serverSideApply();
  }

  private void report(Website website, Deployment deployment, String fault) {
    int ready = readyReplicas(deployment);
    int wanted = website.getSpec().replicas();
    Condition condition = new ConditionBuilder()
        .withType("Ready")
        .withStatus(fault == null && ready == wanted ? "True" : "False")
        .withReason(fault != null ? "InvalidSpec" : ready == wanted ? "Serving" : "Starting")
        .withMessage(fault != null ? fault : ready + " of " + wanted + " pods are ready")
        .withObservedGeneration(website.getMetadata().getGeneration())
        .build();
    WebsiteStatus old = Objects.requireNonNullElse(website.getStatus(), new WebsiteStatus(0, null));
    condition.setLastTransitionTime(transitionTime(old, condition));
    WebsiteStatus status = new WebsiteStatus(ready, List.of(condition));
    if (status.equals(website.getStatus())) return;
    resource(website).editStatus(one -> {
      one.setStatus(status);
      return one;
    });
  }

  private static int readyReplicas(Deployment deployment) {
    if (deployment == null || deployment.getStatus() == null) return 0;
    return Objects.requireNonNullElse(deployment.getStatus().getReadyReplicas(), 0);
  }

  /** When the condition's status became what it is. */
  private static String transitionTime(WebsiteStatus old, Condition now) {
    return old.conditions().stream()
        .filter(one -> one.getType().equals(now.getType()) && one.getStatus().equals(now.getStatus()))
        .map(Condition::getLastTransitionTime)
        .findFirst()
        .orElseGet(() -> Instant.now().truncatedTo(ChronoUnit.SECONDS).toString());
  }

  private void edit(Website website, Consumer<Website> change) {
    resource(website).edit(one -> {
      change.accept(one);
      return one;
    });
  }

  private Resource<Website> resource(Website website) {
    var metadata = website.getMetadata();
    return client.resources(Website.class).inNamespace(metadata.getNamespace()).withName(metadata.getName());
  }

  private Resource<Deployment> deployment(Website website) {
    var metadata = website.getMetadata();
    return client.apps().deployments().inNamespace(metadata.getNamespace()).withName(metadata.getName());
  }
}
