/** Pods: pending, not ready, failing, evicted. What keeps a deleted pod is in terminating.ts. */
import { podClaims } from '../../../components/api/pod-references.ts'
import type { PersistentVolumeClaim, Pod } from '../../../components/api/generated/types.ts'
import {
  conditionOf,
  conditionSeen,
  conditionsSeen,
  eventsAbout,
  eventsSeen,
  seen,
} from '../evidence.ts'
import { defineExplainer, eventsNeed, type Need } from '../explainer.ts'
import { failedFindings } from '../failed-pod.ts'
import type { Finding } from '../finding.ts'
import { countText, listText, sentence } from '../names.ts'
import { containerFindings, exitText, mountAdvice, mountReasons } from '../pod-containers.ts'
import { isOver } from '../pod-phase.ts'
import { nodeOf, type Related } from '../related.ts'
import { schedulingFinding } from '../scheduling.ts'
import { claimFindings } from './persistent-volume-claim.ts'

/** Whether the pod still waits for a node. */
export function waitsForNode(pod: Pod): boolean {
  return !pod.spec?.nodeName && !isOver(pod)
}

function podNeeds(pod: Pod): Need[] {
  const { namespace = '' } = pod.metadata
  const needs: Need[] = [eventsNeed(pod)]
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
    // What is wrong with a bound claim, such as its size, does not keep the pod from a node.
    if (claim?.status?.phase === 'Bound') return []
    if (claim !== undefined) {
      // A claim that waits for the pod is no reason for the pod to wait.
      const findings = claimFindings(claim, { ...related, pods: [pod] })
      return findings
        .filter(({ cause }) => cause !== 'WaitForFirstConsumer')
        .map((one) => ({ ...one, cause: 'UnboundClaim' }))
    }
    return related.incomplete.has('persistentVolumeClaims')
      ? []
      : [missingClaim(pod, name, related)]
  })
}

/** The claim of an ephemeral volume is made by its controller, any other one by a user. */
function missingClaim(pod: Pod, name: string, related: Related): Finding {
  const { volumes = [] } = pod.spec ?? {}
  const isEphemeral = volumes.some(
    (volume) => volume.ephemeral !== undefined && `${pod.metadata.name}-${volume.name}` === name,
  )
  const failures = eventsSeen(related, pod, ['FailedBinding'])
  const step =
    failures.length > 0
      ? 'correct what the event names; the controller tries again'
      : 'check that the controller manager runs: skiff status'
  return {
    cause: 'MissingClaim',
    message: isEphemeral
      ? `The PersistentVolumeClaim ${name} for an ephemeral volume of the pod was not created yet.`
      : `The pod uses the PersistentVolumeClaim ${name}, which does not exist.`,
    evidence: [
      seen(pod, `a volume names the claim ${name}`),
      ...conditionsSeen(pod, 'PodScheduled'),
      ...failures,
    ],
    next: [
      isEphemeral
        ? step
        : `create the claim ${name} in namespace ${pod.metadata.namespace}, or correct the volume of the pod`,
    ],
  }
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

/** The node is not Ready: then its pods are not, whatever their containers do. */
function nodeFinding(pod: Pod, related: Related): Finding | undefined {
  const node = nodeOf(pod, related)
  const ready = node === undefined ? undefined : conditionOf(node, 'Ready')
  if (node === undefined || ready === undefined || ready.status === 'True') return undefined
  const { name } = node.metadata
  return {
    cause: 'NodeNotReady',
    message: `The pod's node ${name} is not Ready, so nothing is known of the pod.`,
    evidence: [conditionSeen(node, ready), ...conditionsSeen(pod, 'Ready')],
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

/** Some containers of the pod have done their work, and others run: no container is at fault. */
function completedFinding(pod: Pod): Finding | undefined {
  const done = (pod.status?.containerStatuses ?? []).filter(
    ({ state }) => state?.terminated?.exitCode === 0,
  )
  if (done.length === 0 || (pod.spec?.restartPolicy ?? 'Always') === 'Always') return undefined
  const names = listText(done.map(({ name }) => name))
  return {
    cause: 'ContainerCompleted',
    message: `${countText(done.length, 'container')} (${names}) ended with success; a pod is Ready only while all its containers run.`,
    evidence: [seen(pod, `ended with exit code 0: ${names}`), ...conditionsSeen(pod, 'Ready')],
    next: ['wait until the other containers have ended, too'],
  }
}

/** The node has the pod, and no container says anything yet. */
function startingFinding(pod: Pod, related: Related): Finding {
  const { nodeName } = pod.spec ?? {}
  const warnings = eventsSeen(related, pod, mountReasons)
  const [newest] = eventsAbout(related, pod, mountReasons)
  return {
    cause: newest?.reason ?? 'Starting',
    message:
      newest === undefined
        ? `Node ${nodeName} is starting the pod.`
        : sentence(`Node ${nodeName} cannot start the pod: ${newest.message}`),
    evidence: [
      seen(pod, `bound to node ${nodeName}`, pod.status?.startTime),
      ...conditionsSeen(pod, 'Ready', 'Initialized'),
      ...warnings,
    ],
    next: [
      newest === undefined
        ? `wait, or read the log of its node: skiff logs ${nodeName}`
        : mountAdvice(pod, newest.reason),
    ],
  }
}

/** Findings about a pod on a node. */
function runningFindings(pod: Pod, related: Related): Finding[] {
  if (conditionOf(pod, 'Ready')?.status === 'True') return []
  const found = [nodeFinding(pod, related), ...containerFindings(pod, related), gatesFinding(pod)]
  const findings = found.filter((one) => one !== undefined)
  if (findings.length > 0) return findings
  return [completedFinding(pod) ?? startingFinding(pod, related)]
}

/** Everything that is wrong with a pod that is not being deleted. */
export function podFindings(pod: Pod, related: Related): Finding[] {
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
