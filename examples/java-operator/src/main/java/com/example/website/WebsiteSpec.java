package com.example.website;

import java.util.Optional;

/** What a user wants. */
public record WebsiteSpec(String image, int replicas) {

  /** What is wrong with it and what to do. The schema cannot say this: old Websites must stay valid. */
  public Optional<String> fault() {
    String name = image.substring(image.lastIndexOf('/') + 1);
    boolean isPinned = name.contains("@") || name.contains(":") && !name.endsWith(":latest");
    if (isPinned) return Optional.empty();
    return Optional.of("spec.image: " + image + " has no version: add a tag such as " + base(name) + ":1.0");
  }

  private static String base(String name) {
    return name.split(":", 2)[0];
  }
}
