/** Pods: pending, not ready, failing, evicted. What keeps a deleted pod is in terminating.ts. */
import { podClaims } from '../../../components/api/pod-references.ts'
import type { Node, PersistentVolumeClaim, Pod } from '../../../components/api/generated/types.ts'
import { conditionOf, conditionSeen, conditionsSeen, eventsSeen, seen } from '../evidence.ts'
import { defineExplainer, eventsNeed, type Need } from '../explainer.ts'
import type { Finding } from '../finding.ts'
import { containerFindings, exitText } from '../pod-containers.ts'
import type { Related } from '../related.ts'
import { schedulingFinding } from '../scheduling.ts'
import { claimFindings } from './persistent-volume-claim.ts'

const isOver = ({ status }: Pod): boolean =>
  status?.phase === 'Succeeded' || status?.phase === 'Failed'

/** Whether the pod still waits for a node. */
export function waitsForNode(pod: Pod): boolean {
  return !pod.spec?.nodeName && !isOver(pod)
}

function podNeeds(pod: Pod): Need[] {
  const { namespace = '' } = pod.metadata
  const needs: Need[] = [eventsNeed({ ...pod, kind: 'Pod' })]
  if (podClaims(pod).length > 0) {
    needs.push({ of: 'persistentVolumeClaims', namespace })
    needs.push({ of: 'persistentVolumes' }, { of: 'storageClasses' })
  }
  const { nodeName } = pod.spec ?? {}
  if (nodeName) needs.push({ of: 'nodes', name: nodeName })
  else if (!isOver(pod)) needs.push({ of: 'nodes' }, { of: 'scheduler' })
  return needs
}

/** Claims that the pod names and that do not exist, or are not bound. */
function claimTrouble(pod: Pod, related: Related): Finding[] {
  const claims = new Map<string, PersistentVolumeClaim>()
  for (const claim of related.persistentVolumeClaims) {
    const { name = '', namespace } = claim.metadata
    if (namespace === pod.metadata.namespace) claims.set(name, claim)
  }
  return podClaims(pod).flatMap((name): Finding[] => {
    const claim = claims.get(name)
    if (claim !== undefined) {
      // A claim that waits for the pod is no reason for the pod to wait.
      const findings = claimFindings(claim, { ...related, pods: [pod] })
      return findings
        .filter(({ cause }) => cause !== 'WaitForFirstConsumer')
        .map((one) => ({ ...one, cause: 'UnboundClaim' }))
    }
    if (related.incomplete.has('persistentVolumeClaims')) return []
    const { namespace } = pod.metadata
    return [
      {
        cause: 'MissingClaim',
        message: `The pod uses the PersistentVolumeClaim ${name}, which does not exist.`,
        evidence: [
          seen(pod, `a volume names the claim ${name}`),
          ...conditionsSeen(pod, 'PodScheduled'),
        ],
        next: [
          `create the claim ${name} in namespace ${namespace}, or correct the volume of the pod`,
        ],
      },
    ]
  })
}

const volumePlugins = new Set([
  'NodeVolumeLimits',
  'VolumeBinding',
  'VolumeRestrictions',
  'VolumeZone',
])

/** Whether claims and volumes are all that keeps the pod from a node. */
function isAboutVolumes({ scheduler }: Related): boolean {
  const nodes = scheduler?.kind === 'answered' ? scheduler.explanation.nodes : []
  const plugins = nodes.flatMap((node) =>
    node.fits ? [''] : [node.plugin, ...(node.others ?? []).map(({ plugin }) => plugin)],
  )
  return plugins.length > 0 && plugins.every((plugin) => volumePlugins.has(plugin))
}

function pendingFindings(pod: Pod, related: Related): Finding[] {
  const scheduling = schedulingFinding(pod, related)
  // Gates come first: the scheduler has not looked at the claims yet.
  if (scheduling.cause === 'SchedulingGated') return [scheduling]
  const [first, ...more] = claimTrouble(pod, related)
  if (first === undefined) return [scheduling]
  if (!isAboutVolumes(related)) return [first, ...more, scheduling]
  return [{ ...first, evidence: [...first.evidence, ...scheduling.evidence] }, ...more]
}

function evictionFinding(pod: Pod, related: Related): Finding | undefined {
  const { reason, message = '' } = pod.status ?? {}
  const target = conditionOf(pod, 'DisruptionTarget')
  if (reason !== 'Evicted' && target?.status !== 'True') return undefined
  const why = message || target?.message || target?.reason || ''
  return {
    cause: reason === 'Evicted' ? 'Evicted' : (target?.reason ?? 'Disrupted'),
    message: `The pod was taken off node ${pod.spec?.nodeName ?? '(none)'}: ${why}`,
    evidence: [
      seen(
        pod,
        `status.phase is ${pod.status?.phase}${reason ? `, for the reason ${reason}` : ''}`,
      ),
      ...conditionsSeen(pod, 'DisruptionTarget'),
      ...eventsSeen(related, pod, ['Evicted', 'Preempted', 'TaintManagerEviction']),
      ...related.nodes.flatMap((node) => badNodeConditions({ ...node, kind: 'Node' })),
    ],
    next: ['its controller replaces it; a pod without a controller has to be created again'],
  }
}

function badNodeConditions(node: Node) {
  const conditions = node.status?.conditions ?? []
  return conditions
    .filter(({ type, status }) => (type === 'Ready' ? status !== 'True' : status === 'True'))
    .map((condition) => conditionSeen(node, condition))
}

function failedFindings(pod: Pod, related: Related): Finding[] {
  const evicted = evictionFinding(pod, related)
  if (evicted !== undefined) return [evicted]
  const containers = containerFindings(pod, related)
  if (containers.length > 0) return containers
  const { reason = 'Failed', message = '' } = pod.status ?? {}
  return [
    {
      cause: reason,
      message: `The pod failed${message ? `: ${message}` : ''}.`,
      evidence: [seen(pod, 'status.phase is Failed'), ...eventsSeen(related, pod)],
      next: ['correct what its message names, and create the pod again'],
    },
  ]
}

/** The node is not Ready: then its pods are not, whatever their containers do. */
function nodeFinding(pod: Pod, related: Related): Finding | undefined {
  const node = related.nodes.find(({ metadata }) => metadata.name === pod.spec?.nodeName)
  const ready = node === undefined ? undefined : conditionOf(node, 'Ready')
  if (node === undefined || ready === undefined || ready.status === 'True') return undefined
  const { name } = node.metadata
  return {
    cause: 'NodeNotReady',
    message: `The pod's node ${name} is not Ready, so nothing is known of the pod.`,
    evidence: [conditionSeen({ ...node, kind: 'Node' }, ready), ...conditionsSeen(pod, 'Ready')],
    next: [`see why the node is not Ready: skiff why node ${name}`],
  }
}

function gatesFinding(pod: Pod): Finding | undefined {
  const missing = (pod.spec?.readinessGates ?? [])
    .map(({ conditionType }) => conditionType)
    .filter((type) => conditionOf(pod, type)?.status !== 'True')
  if (missing.length === 0) return undefined
  return {
    cause: 'ReadinessGate',
    message: `The pod waits for readiness gates: ${missing.join(', ')}.`,
    evidence: [
      seen(pod, `spec.readinessGates names ${missing.join(', ')}`),
      ...conditionsSeen(pod, ...missing, 'Ready'),
    ],
    next: ['check that the controller that sets these conditions runs'],
  }
}

/** Findings about a pod on a node. */
function runningFindings(pod: Pod, related: Related): Finding[] {
  if (conditionOf(pod, 'Ready')?.status === 'True') return []
  const found = [nodeFinding(pod, related), ...containerFindings(pod, related), gatesFinding(pod)]
  const findings = found.filter((one) => one !== undefined)
  if (findings.length > 0) return findings
  const { nodeName } = pod.spec ?? {}
  const warnings = eventsSeen(related, pod, [
    'FailedMount',
    'FailedAttachVolume',
    'FailedCreatePodSandBox',
  ])
  const isMount = warnings.length > 0
  return [
    {
      cause: isMount ? 'FailedMount' : 'Starting',
      message: isMount
        ? `The volumes of the pod cannot be mounted: ${warnings[0]?.text}`
        : `Node ${nodeName} is starting the pod.`,
      evidence: [
        seen(pod, `bound to node ${nodeName}`, pod.status?.startTime),
        ...conditionsSeen(pod, 'Ready', 'Initialized'),
        ...warnings,
      ],
      next: isMount
        ? ['create what the volume names, or correct the volume']
        : [`wait, or read the log of its node: skiff logs ${nodeName}`],
    },
  ]
}

/** Everything that is wrong with a pod that is not being deleted. */
export function podFindings(given: Pod, related: Related): Finding[] {
  const pod: Pod = { ...given, kind: 'Pod' }
  if (pod.status?.phase === 'Succeeded') return []
  if (pod.status?.phase === 'Failed') return failedFindings(pod, related)
  return waitsForNode(pod) ? pendingFindings(pod, related) : runningFindings(pod, related)
}

function restartsText(pod: Pod): string {
  const statuses = pod.status?.containerStatuses ?? []
  const restarted = statuses.filter(({ restartCount }) => restartCount > 0)
  return restarted
    .map(({ name, restartCount, lastState }) => {
      const last = lastState?.terminated
      const how = last === undefined ? '' : `, last after ${exitText(last)}`
      return `; container ${name} restarted ${restartCount} times${how}`
    })
    .join('')
}

function podState(pod: Pod): string {
  const { phase = 'Unknown' } = pod.status ?? {}
  if (phase === 'Succeeded') return 'Succeeded: every container ended with exit code 0'
  const ready = conditionOf(pod, 'Ready')
  if (phase !== 'Running') return phase
  if (ready?.status !== 'True') return 'Running, not Ready'
  return `Running and Ready since ${ready.lastTransitionTime ?? 'an unknown time'} on node ${pod.spec?.nodeName}${restartsText(pod)}`
}

export const pod = defineExplainer<Pod>({
  needs: podNeeds,
  explain: podFindings,
  state: podState,
})
