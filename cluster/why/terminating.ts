/** Terminating: why an object that was deleted is still there: its finalizers, whose they are, and what remains. Pure. */
import { usesClaim } from '../../components/api/claim-use.ts'
import { volumeKeys } from '../../components/api/volume-binding.ts'
import type { Pod } from '../../components/api/generated/types.ts'
import { timestamp } from '../../components/component-base/clock.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { conditionOf, conditionSeen, seen, type AnyCondition } from './evidence.ts'
import type { Need } from './explainer.ts'
import { knownFinalizers, setterOf } from './finalizers.ts'
import type { Evidence, Finding } from './finding.ts'
import { objectText, listText } from './names.ts'
import { isOver } from './pod-phase.ts'
import { nodeOf, type Related } from './related.ts'

/** As many remaining objects as a finding names. */
const mostShown = 10

/** When the object was deleted. Its deletionTimestamp is the end of its grace. */
export function deletedAt({ metadata }: KubeObject): string {
  const { deletionTimestamp = '', deletionGracePeriodSeconds = 0 } = metadata
  const ms = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000
  return Number.isNaN(ms) ? deletionTimestamp : timestamp(ms)
}

/** All finalizers; a namespace has some in its spec, too. */
function finalizersOf(object: KubeObject): string[] {
  const inSpec = object.kind === 'Namespace' ? object['spec']?.finalizers : undefined
  return [...(object.metadata.finalizers ?? []), ...((inSpec as string[] | undefined) ?? [])]
}

/** What has to be read to say what remains. */
export function terminatingNeeds(object: KubeObject): Need[] {
  const { kind, metadata } = object
  const { namespace = '', name = '', uid = '' } = metadata
  const needs: Need[] = []
  if (kind === 'Namespace') needs.push({ of: 'contents', namespace: name })
  if (metadata.finalizers?.includes('foregroundDeletion')) {
    needs.push({ of: 'dependents', uid, namespace })
  }
  if (kind === 'PersistentVolumeClaim') needs.push({ of: 'pods', namespace })
  const nodeName: unknown = kind === 'Pod' ? object['spec']?.nodeName : undefined
  if (typeof nodeName === 'string' && nodeName !== '') needs.push({ of: 'nodes', name: nodeName })
  return needs
}

function blocksDeletionOf({ metadata: owner }: KubeObject, { metadata }: KubeObject): boolean {
  const { ownerReferences = [] } = metadata
  return ownerReferences.some(
    ({ uid, blockOwnerDeletion }) => uid === owner.uid && blockOwnerDeletion,
  )
}

/** The objects that keep a finalizer of a known kind in place. */
function remainingFor(finalizer: string, object: KubeObject, related: Related): KubeObject[] {
  const { contents, dependents, pods, dialect } = related
  if (finalizer === 'foregroundDeletion') {
    return dependents.filter((one) => blocksDeletionOf(object, one))
  }
  if (finalizer === dialect.namespaceFinalizer) return [...contents]
  if (finalizer !== volumeKeys(dialect).claimProtection) return []
  return pods.filter((pod) => usesClaim(pod, object))
}

function remainderSeen(one: KubeObject): Evidence {
  const { deletionTimestamp, finalizers = [] } = one.metadata
  const held = finalizers.length === 0 ? '' : `, with the finalizers ${finalizers.join(', ')}`
  if (deletionTimestamp !== undefined) return seen(one, `is being deleted${held}`, deletedAt(one))
  const phase = isOver(one) ? `, and is ${one['status'].phase}` : ''
  return seen(one, `remains${phase}${held}`)
}

function remainingSeen(object: KubeObject, remaining: readonly KubeObject[]): Evidence[] {
  const shown = remaining.slice(0, mostShown).map(remainderSeen)
  const more = remaining.length - shown.length
  return more <= 0 ? shown : [...shown, seen(object, `${more} more objects remain`)]
}

/** Removing a finalizer by hand is the last resort: whatever it protects is left behind. The others stay. */
function removalHint(finalizer: string, { kind = '', metadata }: KubeObject): string {
  const { namespace, name = '', finalizers = [] } = metadata
  const only = 'only if what sets it is gone for good, remove it'
  if (!finalizers.includes(finalizer)) {
    return `${only} from spec.finalizers: kubectl replace --raw /api/v1/namespaces/${name}/finalize -f FILE`
  }
  const others = finalizers.filter((one) => one !== finalizer)
  const left = others.length === 0 ? 'null' : JSON.stringify(others)
  const where = namespace ? ` -n ${namespace}` : ''
  return `${only}: kubectl patch ${kind.toLowerCase()} ${name}${where} --type=merge -p '{"metadata":{"finalizers":${left}}}'`
}

/** A finalizer that no part of the cluster sets. */
function foreignFinding(finalizer: string, object: KubeObject, evidence: Evidence[]): Finding {
  const setter = setterOf(object, finalizer)
  const [owner = finalizer] = finalizer.split('/')
  const by = setter === undefined ? '' : ` (the field manager ${setter} set it)`
  return {
    cause: 'Finalizer',
    message: `The finalizer ${finalizer} holds the object${by}. No part of the cluster removes it: the controller behind ${owner} has to.`,
    evidence,
    next: [
      `check that the controller behind ${owner} runs, and what it logs`,
      removalHint(finalizer, object),
    ],
  }
}

/** Leads on to the first object that is itself held; else to all of them. */
function remainingStep(remaining: readonly KubeObject[]): string | undefined {
  const held = remaining.find(({ metadata }) => (metadata.finalizers ?? []).length > 0)
  if (held !== undefined) return `see what holds the first of them: skiff why ${objectText(held)}`
  if (remaining.length === 0) return undefined
  // A pod that has ended stays until it is deleted.
  const wait = remaining.every(isOver) ? '' : ', or wait for its end'
  return `delete what remains${wait}: ${listText(remaining.map(objectText))}`
}

function finalizerFinding(finalizer: string, object: KubeObject, related: Related): Finding {
  const known = knownFinalizers(related.dialect).get(finalizer)
  const remaining = remainingFor(finalizer, object, related)
  const evidence = [
    seen(object, `deleted, with the finalizer ${finalizer}`, deletedAt(object)),
    ...remainingSeen(object, remaining),
  ]
  if (known === undefined) return foreignFinding(finalizer, object, evidence)
  const step = remainingStep(remaining) ?? known.lead?.(object)
  return {
    cause: 'Finalizer',
    message: `The finalizer ${finalizer} waits for ${known.waitsFor}; ${known.by} removes it then.`,
    evidence,
    next: [step ?? 'check that it runs: skiff status'],
  }
}

/** What a pod waits for on its node, whatever finalizers it has. */
function podFinding(pod: Pod, related: Related): Finding {
  const { deletionTimestamp = '', deletionGracePeriodSeconds: grace = 0, name } = pod.metadata
  const nodeName = pod.spec?.nodeName ?? ''
  const node = nodeOf(pod, related)
  const ready = node === undefined ? undefined : conditionOf(node, 'Ready')
  const isOver = Date.parse(deletionTimestamp) < related.nowMs
  const evidence = [
    seen(pod, `deleted, with ${grace} s of grace, which end at ${deletionTimestamp}`),
    ...(node === undefined || ready === undefined ? [] : [conditionSeen(node, ready)]),
  ]
  if (nodeName === '' || (node === undefined && !related.incomplete.has('nodes'))) {
    const message = `The pod's node ${nodeName || '(none)'} does not exist; the pod garbage collector deletes it.`
    const next = ['check that the controller manager runs: skiff status']
    return { cause: 'NodeIsGone', message, evidence, next }
  }
  if (ready !== undefined && ready.status !== 'True') {
    return {
      cause: 'NodeNotReady',
      message: `Node ${nodeName} is not Ready, and only its agent can confirm that the containers have stopped.`,
      evidence,
      next: [
        `see why the node is not Ready: skiff why node ${nodeName}`,
        `only if the node is gone for good: kubectl delete pod ${name} -n ${pod.metadata.namespace} --force --grace-period=0`,
      ],
    }
  }
  return {
    cause: 'StoppingContainers',
    message: isOver
      ? `The grace period is over, and the agent of node ${nodeName} has not confirmed that the containers stopped.`
      : `Node ${nodeName} is stopping the containers; they have until ${deletionTimestamp}.`,
    evidence,
    next: [
      isOver ? `read the log of the agent: skiff logs ${nodeName}` : 'wait for the grace period',
    ],
  }
}

/** A namespace's own conditions say more than its finalizer. */
function namespaceConditions(object: KubeObject): Evidence[] {
  const conditions = (object['status']?.conditions ?? []) as readonly AnyCondition[]
  const bad = conditions.filter(({ status }) => status === 'True')
  return bad.map((condition) => conditionSeen(object, condition))
}

/** The findings about an object that was deleted and is still there. */
export function terminatingFindings(object: KubeObject, related: Related): Finding[] {
  const finalizers = finalizersOf(object)
  const findings = finalizers.map((finalizer) => finalizerFinding(finalizer, object, related))
  if (object.kind === 'Pod') {
    const pod = object as Pod
    const isOnNode = Boolean(pod.spec?.nodeName) && !isOver(pod)
    return isOnNode || findings.length === 0 ? [podFinding(pod, related), ...findings] : findings
  }
  if (object.kind !== 'Namespace') return findings
  const more = namespaceConditions(object)
  return findings.map((one) => ({ ...one, evidence: [...one.evidence, ...more] }))
}
