/** PersistentVolumeClaims that are not bound, that lost their volume, or that do not grow. */
import { claimClassName, namesClass } from '../../../components/api/default-classes.ts'
import { podClaims } from '../../../components/api/pod-references.ts'
import {
  isLargeEnough,
  offersAccessModes,
  volumeClassName,
  volumeKeys,
} from '../../../components/api/volume-binding.ts'
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
} from '../../../components/api/generated/types.ts'
import {
  labelSelectorFrom,
  matchesLabels,
} from '../../../components/machinery/selectors/label-selector.ts'
import { compareQuantities } from '../../../components/machinery/values/quantity.ts'
import { conditionSeen, eventsSeen, seen, warningsSeen } from '../evidence.ts'
import { defineExplainer, eventsNeed } from '../explainer.ts'
import type { Evidence, Finding } from '../finding.ts'
import { listText } from '../names.ts'
import type { Related } from '../related.ts'

/** As many volumes as are shown with what does not fit. */
const mostVolumes = 5

/** Why an unbound volume does not satisfy the claim; undefined when it does. */
function mismatch(
  volume: PersistentVolume,
  claim: PersistentVolumeClaim,
  { dialect }: Related,
): string | undefined {
  const className = volumeClassName(volume, dialect)
  if (className !== claimClassName(claim, dialect)) return `has the class "${className}"`
  if (!isLargeEnough(volume, claim)) return `has only ${volume.spec?.capacity?.['storage']}`
  if (!offersAccessModes(volume, claim)) {
    return `has the access modes ${(volume.spec?.accessModes ?? []).join(', ')}`
  }
  const { selector } = claim.spec ?? {}
  if (selector !== undefined && !matchesLabels(labelSelectorFrom(selector), volume.metadata.labels))
    return 'does not match the selector'
  return undefined
}

/** Unbound volumes, each with what keeps it from the claim. */
function volumesSeen(claim: PersistentVolumeClaim, related: Related): Evidence[] {
  const free = related.persistentVolumes.filter(({ status }) => status?.phase === 'Available')
  return free.slice(0, mostVolumes).map((volume) => {
    const why = mismatch(volume, claim, related)
    return seen(
      { ...volume, kind: 'PersistentVolume' },
      `is free, and ${why ?? 'satisfies the claim'}`,
    )
  })
}

function waitsForPod(claim: PersistentVolumeClaim, related: Related, found: StorageClass): Finding {
  const { name = '', namespace } = claim.metadata
  const users = related.pods.filter(
    (pod) => pod.metadata.namespace === namespace && podClaims(pod).includes(name),
  )
  const evidence = [
    seen({ ...found, kind: 'StorageClass' }, 'has volumeBindingMode WaitForFirstConsumer'),
    ...eventsSeen(related, claim),
  ]
  const [first] = users
  if (first === undefined) {
    return {
      cause: 'WaitForFirstConsumer',
      message: `The claim gets a volume once a pod that uses it is scheduled, and no pod uses it.`,
      evidence,
      next: [`create a pod that uses the claim ${name}`],
    }
  }
  return {
    cause: 'WaitForFirstConsumer',
    message: `The claim gets a volume once the pod ${first.metadata.name} is scheduled.`,
    evidence: [
      ...evidence,
      seen({ ...first, kind: 'Pod' }, `uses the claim, and is ${first.status?.phase}`),
    ],
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

function unboundFinding(claim: PersistentVolumeClaim, related: Related): Finding {
  const { volumeName } = claim.spec ?? {}
  if (volumeName) {
    const exists = related.persistentVolumes.some(({ metadata }) => metadata.name === volumeName)
    return {
      cause: 'NamedVolume',
      message: exists
        ? `The claim names the volume ${volumeName}, which does not take it.`
        : `The claim names the volume ${volumeName}, which does not exist.`,
      evidence: [
        seen(claim, `spec.volumeName is ${volumeName}`),
        ...volumesSeen(claim, related),
        ...eventsSeen(related, claim),
      ],
      next: [`see the volume: skiff why pv ${volumeName}`],
    }
  }
  const className = claimClassName(claim, related.dialect)
  if (className === '') return withoutClass(claim, related)
  const found = related.storageClasses.find(({ metadata }) => metadata.name === className)
  if (found === undefined) return missingClass(claim, className, related)
  const { selectedNode } = volumeKeys(related.dialect)
  const isDelayed = found.volumeBindingMode === 'WaitForFirstConsumer'
  if (isDelayed && claim.metadata.annotations?.[selectedNode] === undefined) {
    return waitsForPod(claim, related, found)
  }
  const failures = eventsSeen(related, claim, ['ProvisioningFailed'])
  const { provisioner } = found
  return failures.length > 0
    ? {
        cause: 'ProvisioningFailed',
        message: `The provisioner ${provisioner} cannot make a volume: ${failures[0]?.text}`,
        evidence: failures,
        next: ['correct what the event names; the provisioner tries again'],
      }
    : {
        cause: 'WaitsForProvisioner',
        message: `The claim waits for the provisioner ${provisioner} to make a volume.`,
        evidence: [
          seen(claim, `is of the class ${className}, of the provisioner ${provisioner}`),
          ...eventsSeen(related, claim),
          ...volumesSeen(claim, related),
        ],
        next: [`check that the provisioner ${provisioner} runs`],
      }
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
export function claimFindings(given: PersistentVolumeClaim, related: Related): Finding[] {
  const claim: PersistentVolumeClaim = { ...given, kind: 'PersistentVolumeClaim' }
  const { phase } = claim.status ?? {}
  if (phase === 'Bound') return growthFindings(claim, related)
  if (phase === 'Lost') {
    const message = `The volume ${claim.spec?.volumeName} of the claim does not exist any more.`
    const next = ['its data is gone with it: create the claim anew, or restore the volume']
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
