package com.example.website;

import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import io.fabric8.kubernetes.client.informers.cache.Cache;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches Websites and their Deployments in all namespaces, and reconciles a Website whenever one of the two changes. One thread
 * works through a queue of keys; events only say where to look.
 */
public final class WebsiteOperator implements AutoCloseable {
  private static final Logger LOG = LoggerFactory.getLogger(WebsiteOperator.class);
  private static final long RETRY_MS = 200;

  private final WebsiteReconciler reconciler;
  private final SharedIndexInformer<Website> websites;
  private final SharedIndexInformer<Deployment> deployments;
  private final Set<String> queued = ConcurrentHashMap.newKeySet();
  private final ScheduledThreadPoolExecutor worker =
      new ScheduledThreadPoolExecutor(1, new ThreadPoolExecutor.DiscardPolicy());

  /** The caller closes the client, after the operator. */
  public WebsiteOperator(KubernetesClient client) {
    reconciler = new WebsiteReconciler(client);
    websites = client.resources(Website.class).inAnyNamespace().runnableInformer(0);
    deployments = client.apps().deployments().inAnyNamespace().withLabel(WebsiteReconciler.LABEL).runnableInformer(0);
    websites.addEventHandler(enqueueing(Cache::metaNamespaceKeyFunc));
    deployments.addEventHandler(enqueueing(WebsiteOperator::websiteOf));
    worker.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
  }

  /** Returns when it knows what is there. */
  public WebsiteOperator start() {
    websites.run();
    deployments.run();
    return this;
  }

  private static String websiteOf(Deployment deployment) {
    var metadata = deployment.getMetadata();
    return Cache.namespaceKeyFunc(metadata.getNamespace(), metadata.getLabels().get(WebsiteReconciler.LABEL));
  }

  private <T> ResourceEventHandler<T> enqueueing(Function<T, String> key) {
    return new ResourceEventHandler<>() {
      @Override
      public void onAdd(T object) {
        enqueue(key.apply(object));
      }

      @Override
      public void onUpdate(T old, T object) {
        enqueue(key.apply(object));
      }

      @Override
      public void onDelete(T object, boolean isStateUnknown) {
        enqueue(key.apply(object));
      }
    };
  }

  private void enqueue(String key) {
    if (queued.add(key)) worker.execute(() -> work(key));
  }

  private void work(String key) {
    queued.remove(key);
    Website website = websites.getStore().getByKey(key);
    if (website == null) return;
    try {
      reconciler.reconcile(website);
    } catch (RuntimeException e) {
      // Whatever it is: a lost key would be a Website that stays as it is.
      LOG.info("reconciling {} failed and is tried again in {} ms: {}", key, RETRY_MS, e.toString());
      worker.schedule(() -> enqueue(key), RETRY_MS, TimeUnit.MILLISECONDS);
    }
  }

  /** Returns when nothing is being reconciled any more. */
  @Override
  public void close() {
    websites.stop();
    deployments.stop();
    worker.shutdown();
    try {
      worker.awaitTermination(10, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Runs in the cluster of the kubeconfig, or in the one whose pod it runs in, until it gets a signal. */
  public static void main(String[] args) {
    try (KubernetesClient client = new KubernetesClientBuilder().build();
        WebsiteOperator operator = new WebsiteOperator(client).start()) {
      LOG.info("watching Websites at {}", client.getMasterUrl());
      operator.websites.stopped().toCompletableFuture().join();
    }
  }
}
