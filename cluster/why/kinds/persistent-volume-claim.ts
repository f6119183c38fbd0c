/** PersistentVolumeClaims that are not bound, that lost their volume, or that do not grow. */
import { claimClassName, namesClass } from '../../../components/api/default-classes.ts'
import { labelKey } from '../../../components/api/dialect.ts'
import { podClaims } from '../../../components/api/pod-references.ts'
import { volumeKeys } from '../../../components/api/volume-binding.ts'
import type {
  PersistentVolumeClaim,
  StorageClass,
} from '../../../components/api/generated/types.ts'
import { compareQuantities } from '../../../components/machinery/values/quantity.ts'
import { mismatch, volumesSeen } from '../claim-volumes.ts'
import { conditionSeen, eventsSeen, seen, warningsSeen } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { listText, sentence } from '../names.ts'
import { isOver } from '../pod-phase.ts'
import type { Related } from '../related.ts'

function waitsForPod(claim: PersistentVolumeClaim, related: Related, found: StorageClass): Finding {
  const { name = '', namespace } = claim.metadata
  const users = related.pods.filter(
    (pod) => pod.metadata.namespace === namespace && podClaims(pod).includes(name) && !isOver(pod),
  )
  const evidence = [
    seen(found, 'has volumeBindingMode WaitForFirstConsumer'),
    ...eventsSeen(related, claim),
  ]
  const [first] = users
  if (first === undefined) {
    return {
      cause: 'WaitForFirstConsumer',
      message: 'The claim gets a volume once a pod that uses it is scheduled, and no pod uses it.',
      evidence,
      next: [`create a pod that uses the claim ${name}`],
    }
  }
  return {
    cause: 'WaitForFirstConsumer',
    message: `The claim gets a volume once the pod ${first.metadata.name} is scheduled.`,
    evidence: [...evidence, seen(first, `uses the claim, and is ${first.status?.phase}`)],
    next: [`see why the pod has no node: skiff why pod ${first.metadata.name} -n ${namespace}`],
  }
}

function withoutClass(claim: PersistentVolumeClaim, related: Related): Finding {
  const wantsNone = namesClass(claim, related.dialect)
  return {
    cause: 'NoStorageClass',
    message: wantsNone
      ? 'The claim asks for no class, so only an existing volume can satisfy it, and none does.'
      : 'The claim names no class, there is no default StorageClass, and no volume satisfies it.',
    evidence: [
      seen(claim, 'names no class'),
      ...volumesSeen(claim, related),
      ...eventsSeen(related, claim),
    ],
    next: [
      wantsNone
        ? 'create a PersistentVolume that satisfies the claim, or a claim without storageClassName: ""'
        : 'mark a StorageClass as default, or name one in spec.storageClassName',
    ],
  }
}

function missingClass(claim: PersistentVolumeClaim, className: string, related: Related): Finding {
  const names = related.storageClasses.map(({ metadata }) => metadata.name ?? '')
  const all = names.length === 0 ? 'there are none' : `there are: ${listText(names, 10)}`
  return {
    cause: 'MissingStorageClass',
    message: `The StorageClass ${className} does not exist, and no volume of that class satisfies the claim.`,
    evidence: [
      seen(claim, `names the class ${className}; ${all}`),
      ...volumesSeen(claim, related),
      ...eventsSeen(related, claim),
    ],
    next: [`create the StorageClass ${className}, or create the claim anew with another class`],
  }
}

/** The claim names its volume. */
function namedVolume(claim: PersistentVolumeClaim, volumeName: string, related: Related): Finding {
  const { persistentVolumes, incomplete } = related
  const volume = persistentVolumes.find(({ metadata }) => metadata.name === volumeName)
  const why = volume === undefined ? undefined : mismatch(volume, claim, related)
  const isMissing = volume === undefined && !incomplete.has('persistentVolumes')
  return {
    cause: 'NamedVolume',
    message: isMissing
      ? `The claim names the volume ${volumeName}, which does not exist.`
      : `The claim names the volume ${volumeName}, which does not take it.`,
    evidence: [
      seen(claim, `spec.volumeName is ${volumeName}`),
      ...(volume === undefined || why === undefined ? [] : [seen(volume, why)]),
      ...eventsSeen(related, claim),
    ],
    next: [
      isMissing
        ? `create the PersistentVolume ${volumeName}, or create the claim anew without spec.volumeName`
        : `see the volume: skiff why pv ${volumeName}`,
    ],
  }
}

/** The domain's own names are of in-tree plugins, of which this cluster has none: kubernetes.io/no-provisioner says so itself. */
function withoutProvisioner(
  claim: PersistentVolumeClaim,
  provisioner: string,
  related: Related,
): Finding {
  return {
    cause: 'NoProvisioner',
    message: `The class has the provisioner ${provisioner}, which makes no volumes, and no existing volume satisfies the claim.`,
    evidence: [
      seen(claim, `is of a class with the provisioner ${provisioner}`),
      ...volumesSeen(claim, related),
      ...eventsSeen(related, claim, ['ProvisioningFailed']),
    ],
    next: ['create a PersistentVolume that satisfies the claim, or a claim of another class'],
  }
}

/** The claim waits for the provisioner of its class. */
function provisioningFinding(
  claim: PersistentVolumeClaim,
  { provisioner }: StorageClass,
  related: Related,
): Finding {
  if (provisioner.startsWith(labelKey(related.dialect, '', ''))) {
    return withoutProvisioner(claim, provisioner, related)
  }
  const failures = eventsSeen(related, claim, ['ProvisioningFailed'])
  if (failures.length > 0) {
    return {
      cause: 'ProvisioningFailed',
      message: sentence(
        `The provisioner ${provisioner} cannot make a volume: ${failures[0]?.text}`,
      ),
      evidence: failures,
      next: ['correct what the event names; the provisioner tries again'],
    }
  }
  return {
    cause: 'WaitsForProvisioner',
    message: `The claim waits for the provisioner ${provisioner} to make a volume.`,
    evidence: [
      seen(claim, `is of a class with the provisioner ${provisioner}`),
      ...eventsSeen(related, claim),
      ...volumesSeen(claim, related),
    ],
    next: [`check that the provisioner ${provisioner} runs`],
  }
}

/** The class could not be read, so what it says is not known. */
function unknownClass(claim: PersistentVolumeClaim, className: string, related: Related): Finding {
  return {
    cause: 'Pending',
    message: `The claim of the class ${className} is not bound.`,
    evidence: [seen(claim, `names the class ${className}`), ...eventsSeen(related, claim)],
    next: [`see the class: kubectl get storageclass ${className}`],
  }
}

function unboundFinding(claim: PersistentVolumeClaim, related: Related): Finding {
  const { volumeName } = claim.spec ?? {}
  if (volumeName) return namedVolume(claim, volumeName, related)
  const { storageClasses, incomplete, dialect } = related
  const className = claimClassName(claim, dialect)
  if (className === '') return withoutClass(claim, related)
  const found = storageClasses.find(({ metadata }) => metadata.name === className)
  if (found === undefined) {
    return incomplete.has('storageClasses')
      ? unknownClass(claim, className, related)
      : missingClass(claim, className, related)
  }
  const { selectedNode } = volumeKeys(dialect)
  const isDelayed = found.volumeBindingMode === 'WaitForFirstConsumer'
  if (isDelayed && claim.metadata.annotations?.[selectedNode] === undefined) {
    return waitsForPod(claim, related, found)
  }
  return provisioningFinding(claim, found, related)
}

function growthFindings(claim: PersistentVolumeClaim, related: Related): Finding[] {
  const wanted = claim.spec?.resources?.requests?.['storage']
  const given = claim.status?.capacity?.['storage']
  if (wanted === undefined || given === undefined) return []
  if (compareQuantities(wanted, given) <= 0) return []
  const conditions = (claim.status?.conditions ?? []).map((one) => conditionSeen(claim, one))
  const failures = eventsSeen(related, claim, ['VolumeResizeFailed', 'FileSystemResizeFailed'])
  return [
    {
      cause: 'NotExpanded',
      message: `The claim asks for ${wanted} and has ${given}.`,
      evidence: [
        seen(claim, `status.capacity is ${given}, spec.resources.requests ${wanted}`),
        ...conditions,
        ...failures,
        ...eventsSeen(related, claim, ['ExternalExpanding', 'Resizing']),
      ],
      next: [
        failures.length > 0
          ? 'correct what the event names; the expansion is tried again'
          : 'wait; a file system grows when a pod uses the claim',
      ],
    },
  ]
}

/** Everything that is wrong with a claim that is not being deleted. */
export function claimFindings(claim: PersistentVolumeClaim, related: Related): Finding[] {
  const { phase } = claim.status ?? {}
  if (phase === 'Bound') return growthFindings(claim, related)
  if (phase === 'Lost') {
    const message = `The claim was bound to the volume ${claim.spec?.volumeName}, and has lost it.`
    const next = ['create the claim anew, or restore the volume']
    const evidence = [seen(claim, 'status.phase is Lost'), ...warningsSeen(related, claim)]
    return [{ cause: 'Lost', message, evidence, next }]
  }
  return [unboundFinding(claim, related)]
}

export const persistentVolumeClaim = defineExplainer<PersistentVolumeClaim>({
  needs: (claim) => [
    eventsNeed(claim),
    { of: 'storageClasses' },
    { of: 'persistentVolumes' },
    { of: 'pods', namespace: claim.metadata.namespace ?? '' },
  ],
  explain: claimFindings,
  state: ({ status, spec }) =>
    status?.phase === 'Bound'
      ? `Bound to the volume ${spec?.volumeName}, with ${status.capacity?.['storage']}`
      : (status?.phase ?? 'Pending'),
})
