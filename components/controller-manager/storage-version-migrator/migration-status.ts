/** The conditions of a StorageVersionMigration (upstream: storageversionmigrator/util.go). Pure. */
import { timestamp } from '../../component-base/clock.ts'
import type { KubeObject } from '../../machinery/objects/object.ts'

export interface MigrationCondition {
  readonly type: 'Running' | 'Succeeded' | 'Failed'
  readonly status: string
  readonly lastUpdateTime?: string
  readonly reason?: string
  readonly message?: string
}

export interface StorageVersionMigration extends KubeObject {
  readonly spec?: {
    readonly resource?: {
      readonly group?: string
      readonly version?: string
      readonly resource?: string
    }
  }
  readonly status?: {
    readonly conditions?: readonly MigrationCondition[]
    readonly resourceVersion?: string
  }
}

const reasons = {
  Running: 'StorageVersionMigrationInProgress',
  Succeeded: 'StorageVersionMigrationSucceeded',
  Failed: 'StorageVersionMigrationFailed',
} as const

function isTrue({ status }: StorageVersionMigration, type: MigrationCondition['type']): boolean {
  return (status?.conditions ?? []).some((one) => one.type === type && one.status === 'True')
}

export function isEnded(migration: StorageVersionMigration): boolean {
  return isTrue(migration, 'Succeeded') || isTrue(migration, 'Failed')
}

/** The migration with that condition; one that has ended no longer runs. Itself if it has the condition. */
export function withCondition(
  migration: StorageVersionMigration,
  { type, message }: { readonly type: MigrationCondition['type']; readonly message: string },
  nowMs: number,
): StorageVersionMigration {
  if (isTrue(migration, type)) return migration
  const now = timestamp(nowMs)
  const others = (migration.status?.conditions ?? [])
    .filter((one) => one.type !== type)
    .map((one) => (one.type === 'Running' ? { ...one, status: 'False', lastUpdateTime: now } : one))
  const condition = { type, status: 'True', lastUpdateTime: now, reason: reasons[type], message }
  return { ...migration, status: { ...migration.status, conditions: [...others, condition] } }
}
