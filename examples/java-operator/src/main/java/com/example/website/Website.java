package com.example.website;

import io.fabric8.kubernetes.api.model.Namespaced;
import io.fabric8.kubernetes.client.CustomResource;
import io.fabric8.kubernetes.model.annotation.Group;
import io.fabric8.kubernetes.model.annotation.Version;

/** A web site that a Deployment serves. Its schema is in config/website-definition.yaml. */
@Group("example.com")
@Version("v1")
public class Website extends CustomResource<WebsiteSpec, WebsiteStatus> implements Namespaced {}
