package com.example.website;

import io.fabric8.kubernetes.api.model.Condition;
import java.util.List;

/** What there is. The condition `Ready` says why a site is not served, or not as its spec says. */
public record WebsiteStatus(int readyReplicas, List<Condition> conditions) {

  public WebsiteStatus {
    conditions = conditions == null ? List.of() : List.copyOf(conditions);
  }
}
