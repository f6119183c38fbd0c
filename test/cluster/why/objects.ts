/** Objects and what is related to them for tests of `skiff why`, with only what a test says. */
import { dialects } from '../../../components/api/dialect.ts'
import type { Event, Pod } from '../../../components/api/generated/types.ts'
import type { KubeObject } from '../../../components/machinery/objects/object.ts'
import type { Finding } from '../../../cluster/why/finding.ts'
import { relatedOf, type Related } from '../../../cluster/why/related.ts'

export const nowText = '2026-11-22T12:00:00Z'
export const nowMs = Date.parse(nowText)
export const dialect = dialects.kubernetes

/** An object in namespace `shop` with the uid `uid-NAME`; `metadata` adds to that. */
export function object(
  kind: string,
  name: string,
  more: { metadata?: object; spec?: object; status?: object } & Record<string, unknown> = {},
): KubeObject {
  const { metadata = {}, ...rest } = more
  return { kind, metadata: { namespace: 'shop', name, uid: `uid-${name}`, ...metadata }, ...rest }
}

/** Owned by the controller of that kind and name. */
export function ownedBy(kind: string, name: string) {
  const owner = { apiVersion: 'apps/v1', kind, name, uid: `uid-${name}`, controller: true }
  return { ownerReferences: [owner] }
}

export const condition = (type: string, status: string, more: object = {}) => ({
  type,
  status,
  lastTransitionTime: '2026-11-22T11:55:00Z',
  ...more,
})

export const readyPod = (name: string, more: { metadata?: object } = {}): Pod =>
  object('Pod', name, {
    ...more,
    spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'app' }] },
    status: { phase: 'Running', conditions: [condition('Ready', 'True')] },
  }) as Pod

/** A running pod whose only container has this status. */
export const podWith = (
  name: string,
  status: object,
  more: { metadata?: object; spec?: object } = {},
): Pod =>
  object('Pod', name, {
    ...more,
    spec: { nodeName: 'node-1', containers: [{ name: 'app', image: 'app:1' }], ...more.spec },
    status: {
      phase: 'Running',
      conditions: [condition('Ready', 'False')],
      containerStatuses: [{ name: 'app', ready: false, restartCount: 0, state: {}, ...status }],
    },
  }) as Pod

export const crashing = (name: string, more: { metadata?: object } = {}): Pod =>
  podWith(
    name,
    {
      restartCount: 4,
      state: { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 40s' } },
      lastState: {
        terminated: { exitCode: 3, reason: 'Error', finishedAt: '2026-11-22T11:59:00Z' },
      },
    },
    more,
  )

let serial = 0

/** A warning about an object, a minute ago unless `more` says otherwise. */
export function event(
  kind: string,
  name: string,
  reason: string,
  message = reason,
  more: Partial<Event> = {},
): Event {
  serial += 1
  return {
    metadata: { name: `e${serial}`, namespace: 'shop' },
    involvedObject: { kind, name, namespace: 'shop', uid: `uid-${name}` },
    type: 'Warning',
    reason,
    message,
    count: 2,
    lastTimestamp: '2026-11-22T11:59:00Z',
    ...more,
  }
}

export function related(some: { [K in keyof Related]?: unknown } = {}): Related {
  return relatedOf({ nowMs, dialect, ...(some as Partial<Related>) })
}

export const causesOf = (findings: readonly Finding[]): string[] =>
  findings.map(({ cause }) => cause)

/** Everything that people read of the findings. */
export const textOf = (findings: readonly Finding[]): string =>
  findings
    .flatMap(({ message, evidence, next }) => [
      message,
      ...evidence.map(({ text }) => text),
      ...next,
    ])
    .join('\n')
