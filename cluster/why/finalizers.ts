/** Finalizers: who takes each one off, and what it waits for. Pure. */
import { claimFinalizer } from '../../components/api/device-claims.ts'
import { apiGroup, labelKey, type Dialect } from '../../components/api/dialect.ts'
import { serviceRangeKeys } from '../../components/api/service-ranges.ts'
import { volumeKeys } from '../../components/api/volume-binding.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'

interface KnownFinalizer {
  /** The controller of the controller manager, or another part of the cluster. */
  readonly by: string
  readonly waitsFor: string
  /** The step that ends the wait; undefined when the object does not show one. */
  readonly lead?: (object: KubeObject) => string | undefined
}

/** A volume that is not bound waits for its controller alone. */
function leadOfVolume({ spec, status }: KubeObject): string | undefined {
  const { namespace, name } = spec?.claimRef ?? {}
  if (status?.phase !== 'Bound' || name === undefined) return undefined
  return `the volume goes once its claim does: kubectl delete pvc ${name} -n ${namespace}`
}

function leadOfDefinition({ spec }: KubeObject): string {
  return `see the objects that remain, and what holds them: kubectl get ${spec?.names?.plural}.${spec?.group} -A`
}

function leadOfResourceClaim({ metadata, status }: KubeObject): string | undefined {
  const users = (status?.reservedFor ?? []) as readonly { resource: string; name: string }[]
  const [first] = users
  if (first === undefined) return undefined
  return `delete what the claim is reserved for, or wait for its end: kubectl get ${first.resource} ${first.name} -n ${metadata.namespace}`
}

const controller = (name: string): string => `controller ${name}`

/** Of claims, volumes and their classes. */
function volumeFinalizers(dialect: Dialect): Readonly<Record<string, KnownFinalizer>> {
  const keys = volumeKeys(dialect)
  return {
    [keys.claimProtection]: {
      by: controller('persistentvolumeclaim-protection-controller'),
      waitsFor: 'no pod to use the claim',
    },
    [keys.volumeProtection]: {
      by: controller('persistentvolume-protection-controller'),
      waitsFor: 'the volume not to be bound to a claim',
      lead: leadOfVolume,
    },
    [keys.attributesClassProtection]: {
      by: controller('volumeattributesclass-protection-controller'),
      waitsFor: 'no claim and no volume to name the class',
      lead: () => 'give the claims that name it another class, or delete them: kubectl get pvc -A',
    },
    [keys.externalProvisioner]: {
      by: 'the provisioner of the volume',
      waitsFor: 'its storage to be deleted',
    },
  }
}

/** The finalizers that parts of the cluster set (upstream: the controllers' own constants). */
export function knownFinalizers(dialect: Dialect): ReadonlyMap<string, KnownFinalizer> {
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
    ...volumeFinalizers(dialect),
    [serviceRangeKeys(dialect).finalizer]: {
      by: controller('service-cidr-controller'),
      waitsFor: 'no Service to have an address of the range that no other range holds',
      lead: () => 'see which Services have addresses of it: kubectl get ipaddresses',
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
      lead: leadOfDefinition,
    },
    [claimFinalizer(dialect)]: {
      by: controller('resourceclaim-controller'),
      waitsFor: 'no pod to use the resource claim',
      lead: leadOfResourceClaim,
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
