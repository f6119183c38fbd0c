/** How a definition's deletion begins: with a finalizer and a condition (upstream: pkg/registry/customresourcedefinition/etcd.go). */
import type {
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
} from '../../api/generated/types.ts'
import { timestamp } from '../../component-base/clock.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'
import type { Condition } from './accepted-names.ts'

/** Holds a definition until its instances are gone. */
export function cleanupFinalizer({ apiVersion = '' }: KubeObject): string {
  return `customresourcecleanup.${apiVersion.split('/', 1)[0]}`
}

type Status = NonNullable<KubeObject['status']>

/** The status with the condition in its place; the time of its last change stays when it does not change. */
export function withCondition(
  status: KubeObject['status'],
  condition: Condition,
  nowMs: number,
): Status {
  const held = ((status?.['conditions'] ?? []) as CustomResourceDefinitionCondition[]).slice()
  const at = held.findIndex(({ type }) => type === condition.type)
  const before = held[at]
  const isSame = before?.status === condition.status
  const lastTransitionTime = (isSame ? before?.lastTransitionTime : undefined) ?? timestamp(nowMs)
  const next = { lastTransitionTime, ...condition } as CustomResourceDefinitionCondition
  if (at < 0) held.push(next)
  else held[at] = { ...next, lastTransitionTime }
  return { ...status, conditions: held } as Status
}

/** Puts both on the draft of a definition whose deletion begins. */
export function beginTermination(object: KubeObject): void {
  const { status, metadata } = object as CustomResourceDefinition
  if (status?.conditions?.some(({ type }) => type === 'Terminating')) return
  const finalizer = cleanupFinalizer(object)
  metadata.finalizers = [...new Set([...(metadata.finalizers ?? []), finalizer])]
  const condition = {
    type: 'Terminating',
    status: 'True',
    reason: 'InstanceDeletionPending',
    message:
      'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
  }
  const nowMs = Date.parse(metadata.deletionTimestamp ?? '')
  object['status'] = withCondition(object['status'], condition, nowMs)
}
