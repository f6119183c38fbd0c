package com.example.website;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.fabric8.kubernetes.api.model.Condition;
import io.fabric8.kubernetes.api.model.ObjectMetaBuilder;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.dsl.Resource;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import java.util.function.Predicate;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.DisplayName;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** The operator runs once for all tests, with the rights of config/rbac.yaml and no others. */
class WebsiteOperatorTest {
  @RegisterExtension
  static final SkiffCluster CLUSTER = new SkiffCluster(Path.of("config"));

  private static KubernetesClient account;
  private static WebsiteOperator operator;
  private KubernetesClient client;

  @BeforeAll
  static void startOperator() {
    account = CLUSTER.clientAs("system:serviceaccount:default:website-operator");
    operator = new WebsiteOperator(account).start();
  }

  @AfterAll
  static void stopOperator() {
    operator.close();
    account.close();
  }

  @BeforeEach
  void useNamespace(KubernetesClient client) {
    this.client = client;
  }

  @Test
  @DisplayName("a website gets a deployment, whose pods run")
  void serves() {
    create("nginx:1.29", 2);
    until(website(), one -> isReady(one) && one.getStatus().readyReplicas() == 2);
    assertEquals(2, deployment().get().getStatus().getReadyReplicas());
    var pods = client.pods().withLabel(WebsiteReconciler.LABEL, "blog").list().getItems();
    assertEquals(2, pods.stream().filter(one -> one.getStatus().getPhase().equals("Running")).count());
  }

  @Test
  @DisplayName("a new image is rolled out")
  void rollsOut() {
    create("nginx:1.29", 1);
    until(website(), WebsiteOperatorTest::isReady);
    change("nginx:1.30");
    until(deployment(), one -> imageOf(one).equals("nginx:1.30") && one.getStatus().getUpdatedReplicas() == 1);
  }

  @Test
  @DisplayName("a deleted deployment is replaced")
  void replaces() {
    create("nginx:1.29", 1);
    until(website(), WebsiteOperatorTest::isReady);
    String old = deployment().get().getMetadata().getUid();
    deployment().delete();
    until(deployment(), one -> one != null && !one.getMetadata().getUid().equals(old));
  }

  @Test
  @DisplayName("a deployment that someone else changes is put right")
  void putsRight() {
    create("nginx:1.29", 1);
    until(website(), WebsiteOperatorTest::isReady);
    deployment().scale(7);
    until(deployment(), one -> one.getSpec().getReplicas() == 1);
  }

  @Test
  @DisplayName("a website goes with its deployment, and with its entry among the hosts")
  void cleansUp() {
    create("nginx:1.29", 1);
    until(website(), WebsiteOperatorTest::isReady);
    var hosts = client.configMaps().withName(WebsiteReconciler.HOSTS);
    assertEquals("blog.example.com", hosts.get().getData().get("blog"));
    website().delete();
    until(website(), Objects::isNull);
    assertNull(hosts.get().getData().get("blog"));
    until(deployment(), Objects::isNull);
  }

  @Test
  @DisplayName("an image without a version is reported in the status, and the old one stays")
  void reportsBadSpec() {
    create("nginx:1.29", 1);
    until(website(), WebsiteOperatorTest::isReady);
    change("nginx:latest");
    Website told = until(website(), one -> readyCondition(one).getReason().equals("InvalidSpec"));
    Condition condition = readyCondition(told);
    assertEquals("spec.image: nginx:latest has no version: add a tag such as nginx:1.0", condition.getMessage());
    assertEquals(told.getMetadata().getGeneration(), condition.getObservedGeneration());
    assertEquals("nginx:1.29", imageOf(deployment().get()));
    change("nginx:1.30");
    until(website(), one -> isReady(one) && readyCondition(one).getObservedGeneration() == 3);
  }

  @Test
  @DisplayName("the schema rejects a website without an image")
  void rejects() {
    var refusal = assertThrows(KubernetesClientException.class, () -> create("", 1));
    assertEquals(422, refusal.getCode());
    assertTrue(refusal.getMessage().contains("spec.image"), refusal.getMessage());
  }

  private void create(String image, int replicas) {
    Website website = new Website();
    website.setMetadata(new ObjectMetaBuilder().withName("blog").build());
    website.setSpec(new WebsiteSpec(image, replicas));
    client.resource(website).create();
  }

  private void change(String image) {
    website().edit(one -> {
      one.setSpec(new WebsiteSpec(image, one.getSpec().replicas()));
      return one;
    });
  }

  private Resource<Website> website() {
    return client.resources(Website.class).withName("blog");
  }

  private Resource<Deployment> deployment() {
    return client.apps().deployments().withName("blog");
  }

  /** Watches until the object fits, null if there is none. Fails with what it was last. */
  private static <T> T until(Resource<T> resource, Predicate<T> fits) {
    return resource.waitUntilCondition(fits, 30, TimeUnit.SECONDS);
  }

  private static boolean isReady(Website website) {
    Condition condition = readyCondition(website);
    return condition != null && condition.getStatus().equals("True");
  }

  private static Condition readyCondition(Website website) {
    if (website == null || website.getStatus() == null) return null;
    return website.getStatus().conditions().stream().filter(one -> one.getType().equals("Ready")).findFirst().orElse(null);
  }

  private static String imageOf(Deployment deployment) {
    return deployment.getSpec().getTemplate().getSpec().getContainers().get(0).getImage();
  }
}
