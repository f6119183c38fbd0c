/** Terminating: why an object that was deleted is still there: its finalizers, whose they are, and what remains. Pure. */
import { podClaims } from '../../components/api/pod-references.ts'
import { volumeKeys } from '../../components/api/volume-binding.ts'
import type { Pod } from '../../components/api/generated/types.ts'
import type { KubeObject } from '../../components/machinery/objects/object.ts'
import { conditionOf, conditionSeen, seen, type AnyCondition } from './evidence.ts'
import type { Need } from './explainer.ts'
import { knownFinalizers, setterOf } from './finalizers.ts'
import type { Evidence, Finding } from './finding.ts'
import { objectText, listText } from './names.ts'
import type { Related } from './related.ts'

/** As many remaining objects as a finding names. */
const mostShown = 10

/** All finalizers; a namespace has some in its spec, too. */
function finalizersOf(object: KubeObject): string[] {
  const inSpec = object.kind === 'Namespace' ? object['spec']?.finalizers : undefined
  return [...(object.metadata.finalizers ?? []), ...((inSpec as string[] | undefined) ?? [])]
}

/** What has to be read to say what remains. */
export function terminatingNeeds(object: KubeObject): Need[] {
  const { kind, metadata } = object
  const { namespace = '', name = '' } = metadata
  if (kind === 'Namespace') return [{ of: 'contents', namespace: name }]
  const needs: Need[] = []
  if (metadata.finalizers?.includes('foregroundDeletion')) needs.push({ of: 'contents', namespace })
  if (kind === 'PersistentVolumeClaim') needs.push({ of: 'pods', namespace })
  const nodeName: unknown = kind === 'Pod' ? object['spec']?.nodeName : undefined
  if (typeof nodeName === 'string' && nodeName !== '') needs.push({ of: 'nodes', name: nodeName })
  return needs
}

function dependsOn({ metadata }: KubeObject, uid: string | undefined): boolean {
  return metadata.ownerReferences?.some((one) => one.uid === uid && one.blockOwnerDeletion) === true
}

/** The objects that keep a finalizer of a known kind in place. */
function remainingFor(finalizer: string, object: KubeObject, related: Related): KubeObject[] {
  const { contents, pods, dialect } = related
  const { uid, name = '' } = object.metadata
  if (finalizer === 'foregroundDeletion') return contents.filter((one) => dependsOn(one, uid))
  if (object.kind === 'Namespace') return [...contents]
  if (finalizer !== volumeKeys(dialect).claimProtection) return []
  const users = pods.filter((pod) => podClaims(pod).includes(name)) as readonly KubeObject[]
  return users.filter(({ status }) => !['Succeeded', 'Failed'].includes(String(status?.phase)))
}

function remainingSeen(remaining: readonly KubeObject[]): Evidence[] {
  const shown = remaining.slice(0, mostShown).map((one) => {
    const { deletionTimestamp: ends, finalizers = [] } = one.metadata
    const held = finalizers.length === 0 ? '' : `, with the finalizers ${finalizers.join(', ')}`
    return seen(one, `${ends === undefined ? 'remains' : 'is being deleted'}${held}`, ends)
  })
  const more = remaining.length - shown.length
  const last = remaining.at(-1)
  if (more <= 0 || last === undefined) return shown
  return [...shown, seen(last, `and ${more} more objects remain`)]
}

/** Removing a finalizer by hand is the last resort: whatever it protects is left behind. */
function removalHint(object: KubeObject): string {
  const { kind = '', metadata } = object
  const { namespace, name = '' } = metadata
  const where = namespace ? ` -n ${namespace}` : ''
  return `only if what sets it is gone for good, remove it: kubectl patch ${kind.toLowerCase()} ${name}${where} --type=merge -p '{"metadata":{"finalizers":null}}'`
}

function finalizerFinding(finalizer: string, object: KubeObject, related: Related): Finding {
  const known = knownFinalizers(related.dialect).get(finalizer)
  const remaining = remainingFor(finalizer, object, related)
  const { deletionTimestamp } = object.metadata
  const evidence = [
    seen(object, `deleted, with the finalizer ${finalizer}`, deletionTimestamp),
    ...remainingSeen(remaining),
  ]
  if (known === undefined) {
    const setter = setterOf(object, finalizer)
    const [owner = finalizer] = finalizer.split('/')
    const by = setter === undefined ? '' : ` (the field manager ${setter} set it)`
    return {
      cause: 'Finalizer',
      message: `The finalizer ${finalizer} holds the object${by}. No part of the cluster removes it: the controller behind ${owner} has to.`,
      evidence,
      next: [
        `check that the controller behind ${owner} runs, and what it logs`,
        removalHint(object),
      ],
    }
  }
  const held = remaining.some(({ metadata }) => (metadata.finalizers ?? []).length > 0)
  const first = remaining[0]
  return {
    cause: 'Finalizer',
    message: `The finalizer ${finalizer} waits for ${known.waitsFor}; ${known.by} removes it then.`,
    evidence,
    next:
      first === undefined
        ? ['check that it runs: skiff status']
        : [
            held
              ? `see what holds the first of them: skiff why ${objectText(first)}`
              : `delete what remains, or wait for its end: ${listText(remaining.slice(0, 3).map(objectText))}`,
          ],
  }
}

/** A pod without finalizers waits for its node alone. */
function podFinding(pod: KubeObject, related: Related): Finding {
  const { deletionTimestamp = '', deletionGracePeriodSeconds: grace = 0, name } = pod.metadata
  const nodeName: string = (pod as Pod).spec?.nodeName ?? ''
  const node = related.nodes.find(({ metadata }) => metadata.name === nodeName)
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
  if (finalizers.length === 0 && object.kind === 'Pod') return [podFinding(object, related)]
  const findings = finalizers.map((finalizer) => finalizerFinding(finalizer, object, related))
  if (object.kind !== 'Namespace') return findings
  const more = namespaceConditions(object)
  return findings.map((one) => ({ ...one, evidence: [...one.evidence, ...more] }))
}
