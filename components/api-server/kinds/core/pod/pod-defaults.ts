/** Defaults of Pods and of pod templates (upstream: pkg/apis/core/v1/defaults.go). */
import type {
  Container,
  Lifecycle,
  Pod,
  PodSpec,
  PodTemplateSpec,
  Probe,
} from '../../../../api/generated/types.ts'
import { roundUpAmounts } from '../../rules/quantities.ts'
import { defaultPullPolicy } from './image-pull-policy.ts'
import { defaultVolume } from './volume-defaults.ts'

const noContainers: Container[] = []

/** All defaults of a Pod; some hold for Pods only, not for templates. */
export function defaultPod(pod: Pod): void {
  const spec = (pod.spec ??= { containers: [] })
  for (const container of spec.containers ?? noContainers) defaultRequests(container)
  for (const container of spec.initContainers ?? noContainers) defaultRequests(container)
  spec.enableServiceLinks ??= true
  if (spec.hostNetwork) {
    for (const container of spec.containers ?? noContainers) defaultHostPorts(container)
    for (const container of spec.initContainers ?? noContainers) defaultHostPorts(container)
  }
  defaultPodSpec(spec)
  pod.status ??= {}
}

export function defaultPodTemplate(template: PodTemplateSpec | undefined): void {
  if (template) defaultPodSpec((template.spec ??= { containers: [] }))
}

export function defaultPodSpec(spec: PodSpec): void {
  // The two names mean one field; the newer one wins (upstream: conversion of core/v1 PodSpec).
  const serviceAccount = spec.serviceAccountName || spec.serviceAccount
  if (serviceAccount) {
    // A status update shares the stored, frozen spec, which has both already.
    if (spec.serviceAccount !== serviceAccount) spec.serviceAccount = serviceAccount
    if (spec.serviceAccountName !== serviceAccount) spec.serviceAccountName = serviceAccount
  }

  spec.dnsPolicy ||= 'ClusterFirst'
  spec.restartPolicy ||= 'Always'
  spec.securityContext ??= {}
  spec.terminationGracePeriodSeconds ??= 30
  spec.schedulerName ||= 'default-scheduler'
  roundUpAmounts(spec.overhead)
  for (const volume of spec.volumes ?? []) defaultVolume(volume)
  for (const container of spec.initContainers ?? noContainers) defaultContainer(container)
  for (const container of spec.containers ?? noContainers) defaultContainer(container)
  for (const container of spec.ephemeralContainers ?? noContainers) defaultContainer(container)
}

function defaultRequests(container: Container): void {
  const limits = container.resources?.limits
  if (container.resources === undefined || limits === undefined) return
  const requests = (container.resources.requests ??= {})
  for (const name in limits) requests[name] ??= limits[name] ?? ''
}

function defaultHostPorts(container: Container): void {
  for (const port of container.ports ?? []) port.hostPort ||= port.containerPort
}

function defaultContainer(container: Container): void {
  const resources = (container.resources ??= {})
  roundUpAmounts(resources.limits)
  roundUpAmounts(resources.requests)
  container.terminationMessagePath ||= '/dev/termination-log'
  container.terminationMessagePolicy ||= 'File'
  container.imagePullPolicy ||= defaultPullPolicy(container.image ?? '')
  for (const port of container.ports ?? []) port.protocol ||= 'TCP'
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.fieldRef) valueFrom.fieldRef.apiVersion ||= 'v1'
  }
  if (container.livenessProbe) defaultProbe(container.livenessProbe)
  if (container.readinessProbe) defaultProbe(container.readinessProbe)
  if (container.startupProbe) defaultProbe(container.startupProbe)
  if (container.lifecycle) defaultLifecycle(container.lifecycle)
}

function defaultProbe(probe: Probe): void {
  probe.timeoutSeconds ||= 1
  probe.periodSeconds ||= 10
  probe.successThreshold ||= 1
  probe.failureThreshold ||= 3
  defaultHttpGet(probe)
  if (probe.grpc) probe.grpc.service ??= ''
}

function defaultLifecycle({ postStart, preStop }: Lifecycle): void {
  if (postStart) defaultHttpGet(postStart)
  if (preStop) defaultHttpGet(preStop)
}

function defaultHttpGet({ httpGet }: Pick<Probe, 'httpGet'>): void {
  if (httpGet === undefined) return
  httpGet.path ||= '/'
  httpGet.scheme ||= 'HTTP'
}
