/** Finalizers: who takes each one off, and what it waits for. Pure. */
import { apiGroup, apiKey, labelKey, type Dialect } from '../../components/api/dialect.ts'
import { volumeKeys } from '../../components/api/volume-binding.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

interface KnownFinalizer {
  /** The controller of the controller manager, or another part of the cluster. */
  readonly by: string
  readonly waitsFor: string
}

/** The finalizers that parts of the cluster set (upstream: the controllers' own constants). */
export function knownFinalizers(dialect: Dialect): ReadonlyMap<string, KnownFinalizer> {
  const { claimProtection, volumeProtection, externalProvisioner } = volumeKeys(dialect)
  const controller = (name: string) => `controller ${name}`
  const known: Record<string, KnownFinalizer> = {
    foregroundDeletion: {
      by: controller('garbage-collector-controller'),
      waitsFor: 'the objects that depend on it to be gone',
    },
    orphan: {
      by: controller('garbage-collector-controller'),
      waitsFor: 'the references of its dependents to be removed',
    },
    [dialect.namespaceFinalizer]: {
      by: controller('namespace-controller'),
      waitsFor: 'everything in the namespace to be gone',
    },
    [claimProtection]: {
      by: controller('persistentvolumeclaim-protection-controller'),
      waitsFor: 'no pod to use the claim',
    },
    [volumeProtection]: {
      by: controller('persistentvolume-protection-controller'),
      waitsFor: 'the volume not to be bound to a claim',
    },
    [externalProvisioner]: {
      by: 'the provisioner of the volume',
      waitsFor: 'its storage to be deleted',
    },
    [labelKey(dialect, 'batch', 'job-tracking')]: {
      by: controller('job-controller'),
      waitsFor: 'the pod to be counted in the status of its Job',
    },
    [labelKey(dialect, 'service', 'load-balancer-cleanup')]: {
      by: controller('service-lb-controller'),
      waitsFor: 'the load balancer to be deleted',
    },
    [`customresourcecleanup.${apiGroup(dialect, 'apiextensions')}`]: {
      by: 'the API server',
      waitsFor: 'all objects of the custom kind to be gone',
    },
    [apiKey(dialect, 'resource', 'delete-protection')]: {
      by: controller('resourceclaim-controller'),
      waitsFor: 'no pod to use the resource claim',
    },
  }
  return new Map(Object.entries(known))
}

/** The field manager that set the finalizer; undefined when managed fields do not tell. */
export function setterOf({ metadata }: KubeObject, finalizer: string): string | undefined {
  const owner = (metadata.managedFields ?? []).find(({ fieldsV1 }) => {
    const fields = fieldsV1?.['f:metadata'] as Record<string, unknown> | undefined
    const finalizers = fields?.['f:finalizers'] as Record<string, unknown> | undefined
    return finalizers !== undefined && Object.hasOwn(finalizers, `v:${JSON.stringify(finalizer)}`)
  })
  return owner?.manager
}
