package com.example.website;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.apiextensions.v1.CustomResourceDefinition;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.ConfigBuilder;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.NamespacedKubernetesClient;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.BeforeEachCallback;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.ExtensionContext.Namespace;
import org.junit.jupiter.api.extension.ParameterContext;
import org.junit.jupiter.api.extension.ParameterResolver;

/**
 * One cluster for all test classes of a run, which starts with the first and goes with the last. Each test has a namespace of its
 * own; a parameter of type KubernetesClient acts in it as an administrator.
 */
final class SkiffCluster implements BeforeAllCallback, BeforeEachCallback, AfterEachCallback, ParameterResolver {
  private static final Namespace STORE = Namespace.create(SkiffCluster.class);
  private static final long DELETION_SECONDS = 60;

  private final Path manifests;
  private Running cluster;

  /** Applies the YAML files in the folder before the first test. */
  SkiffCluster(Path manifests) {
    this.manifests = manifests;
  }

  /** A client with the rights of that user. The caller closes it. */
  KubernetesClient clientAs(String user) {
    Config config = new ConfigBuilder(cluster.admin.getConfiguration()).withImpersonateUsername(user).build();
    return new KubernetesClientBuilder().withConfig(config).build();
  }

  @Override
  public void beforeAll(ExtensionContext context) throws IOException {
    // JUnit closes what is in the root's store after the last class.
    cluster = context.getRoot().getStore(STORE).getOrComputeIfAbsent(Running.class, key -> Running.start(), Running.class);
    try (var files = Files.newDirectoryStream(manifests, "*.yaml")) {
      for (Path file : files) cluster.apply(file);
    }
  }

  @Override
  public void beforeEach(ExtensionContext context) {
    var namespace = new NamespaceBuilder().withNewMetadata().withGenerateName("test-").endMetadata().build();
    String name = cluster.admin.resource(namespace).create().getMetadata().getName();
    context.getStore(STORE).put(String.class, name);
  }

  @Override
  public void afterEach(ExtensionContext context) {
    var namespace = cluster.admin.namespaces().withName(namespaceOf(context));
    namespace.delete();
    namespace.waitUntilCondition(Objects::isNull, DELETION_SECONDS, TimeUnit.SECONDS);
  }

  @Override
  public boolean supportsParameter(ParameterContext parameter, ExtensionContext context) {
    return parameter.getParameter().getType() == KubernetesClient.class;
  }

  @Override
  public KubernetesClient resolveParameter(ParameterContext parameter, ExtensionContext context) {
    return cluster.admin.adapt(NamespacedKubernetesClient.class).inNamespace(namespaceOf(context));
  }

  private static String namespaceOf(ExtensionContext context) {
    return context.getStore(STORE).get(String.class, String.class);
  }

  /** The cluster's processes are no children of this one: they end with `down`, or by themselves when this process has ended. */
  private record Running(String name, KubernetesClient admin) implements AutoCloseable {
    private static final Path LOG = Path.of("target", "skiff.log");

    @JsonIgnoreProperties(ignoreUnknown = true)
    private record Up(String kubeconfig) {}

    static Running start() {
      long pid = ProcessHandle.current().pid();
      String name = "java-" + pid;
      String json = skiff("up", "--name", name, "--nodes", "1", "--port", "0", "--output", "json",
          "--parent", Long.toString(pid), "--ttl", "10m");
      File kubeconfig = new File(Serialization.unmarshal(json, Up.class).kubeconfig());
      Config config = Config.fromKubeconfig(kubeconfig);
      return new Running(name, new KubernetesClientBuilder().withConfig(config).build());
    }

    void apply(Path file) throws IOException {
      try (InputStream yaml = Files.newInputStream(file)) {
        for (var applied : admin.load(yaml).serverSideApply()) {
          if (applied instanceof CustomResourceDefinition definition)
            admin.resource(definition).waitUntilCondition(Running::isServed, 30, TimeUnit.SECONDS);
        }
      }
    }

    private static boolean isServed(CustomResourceDefinition definition) {
      return definition.getStatus() != null && definition.getStatus().getConditions().stream()
          .anyMatch(one -> one.getType().equals("Established") && one.getStatus().equals("True"));
    }

    @Override
    public void close() {
      admin.close();
      skiff("down", "--name", name);
    }

    /** What the command writes to standard output. Its progress and errors go to target/skiff.log. */
    private static String skiff(String... words) {
      List<String> command = new ArrayList<>(List.of("npx", "--no", "--", "kube-skiff"));
      command.addAll(List.of(words));
      try {
        Process process = new ProcessBuilder(command)
            .redirectError(ProcessBuilder.Redirect.appendTo(LOG.toFile()))
            .start();
        process.getOutputStream().close();
        String output = new String(process.getInputStream().readAllBytes());
        int code = process.waitFor();
        if (code == 0) return output;
        throw new IllegalStateException(String.join(" ", command) + " exited with " + code + ": see " + LOG);
      } catch (IOException e) {
        throw new IllegalStateException(String.join(" ", command) + ": " + e.getMessage(), e);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(String.join(" ", command) + " was interrupted", e);
      }
    }
  }
}
